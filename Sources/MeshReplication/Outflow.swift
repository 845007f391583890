import MeshCore

/// The answers that are sent on a session as fast as its connection accepts them, because they are much longer than
/// their requests.
struct Outflow {
  /// The rest of a control log.
  struct Records {
    var left: ArraySlice<ControlID>
    /// The message that is sent after the last record.
    let closing: Message?
  }

  struct Chunk {
    let zone: ZoneID
    let asset: AssetID
    let index: Int
  }

  /// The bytes that wait to leave, as the driver last reported, plus the bytes handed to it since.
  var queued = 0
  /// The heads beyond which the peer requested control records, by zone. The answer waits until the peer's account may
  /// be sent more.
  var asked: [ZoneID: [ControlID]] = [:]
  var records: [ZoneID: Records] = [:]
  var chunks: [Chunk] = []

  var hasRoom: Bool { queued < Choices.outflow }
  var isEmpty: Bool { records.isEmpty && chunks.isEmpty }
}

extension Replica {
  /// Notes how many bytes wait to leave on a session. The driver calls this before it hands over received bytes, and
  /// before each tick.
  public func noteQueued(_ bytes: Int, on link: LinkID) { sessions[link]?.outflow.queued = bytes }

  /// Sends the delayed messages of a session while its connection accepts them.
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
