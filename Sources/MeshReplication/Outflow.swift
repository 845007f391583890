import MeshCore

/// What is sent on a session as fast as its link takes it: answers that are much longer than what asked for them.
struct Outflow {
  /// The rest of a control log.
  struct Records {
    var left: ArraySlice<ControlID>
    /// Sent behind the last record.
    let closing: Message?
  }

  struct Chunk {
    let zone: ZoneID
    let asset: AssetID
    let index: Int
  }

  /// Bytes that wait to leave, as the driver last said, and those that were given to it since.
  var queued = 0
  /// Heads of control logs beyond which records were asked for: the answer waits until the account may be sent more.
  var asked: [ZoneID: [ControlID]] = [:]
  var records: [ZoneID: Records] = [:]
  var chunks: [Chunk] = []

  var hasRoom: Bool { queued < Choices.outflow }
  var isEmpty: Bool { records.isEmpty && chunks.isEmpty }
}

extension Replica {
  /// Says how many bytes wait to leave on a link: before what it received is handed over, and before each tick.
  public func noteQueued(_ bytes: Int, on link: LinkID) { sessions[link]?.outflow.queued = bytes }

  /// Sends what is kept back for a session, while its link takes it.
  func pour(_ link: LinkID) throws {
    while let flow = sessions[link]?.outflow, !flow.isEmpty, flow.hasRoom {
      if let zone = flow.records.keys.min(), let records = flow.records[zone] {
        pour(records, of: zone, link)
      } else if let chunk = flow.chunks.first {
        sessions[link]?.outflow.chunks.removeFirst()
        try giveChunk(link, chunk)
      }
    }
  }

  private func pour(_ records: Outflow.Records, of zone: ZoneID, _ link: LinkID) {
    let batch = records.left.prefix(Limits.controlBatch).compactMap { zones[zone]?.log[$0]?.encoded }
    if !batch.isEmpty { send(link, .controlRecords(zone, batch)) }
    let left = records.left.dropFirst(Limits.controlBatch)
    guard left.isEmpty else {
      sessions[link]?.outflow.records[zone]?.left = left
      return
    }
    sessions[link]?.outflow.records[zone] = nil
    if let closing = records.closing { send(link, closing) }
  }
}
