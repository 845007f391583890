import MeshCore

/// The answers that are sent on a session as fast as its connection accepts them, because they are much longer than
/// their requests.
struct Outflow {
  /// The rest of a control log.
  private struct Records {
    var left: ArraySlice<ControlID>
    /// The message that is sent after the last record.
    let closing: Message?
  }

  struct Chunk {
    let zone: ZoneID
    let asset: AssetID
    let index: Int
  }

  /// A part of the delayed answers, as long as one message.
  enum Piece {
    case records(ZoneID, ArraySlice<ControlID>, closing: Message?)
    case chunk(Chunk)
  }

  /// The bytes that wait to leave, as the driver last reported, plus the bytes handed to it since.
  private var queued = 0
  /// The heads beyond which the peer requested control records, by zone. The answer waits until the peer's account may
  /// be sent more.
  private(set) var asked: [ZoneID: [ControlID]] = [:]
  private var records: [ZoneID: Records] = [:]
  private var chunks: [Chunk] = []

  var hasRoom: Bool { queued < Choices.outflow }
  var isEmpty: Bool { records.isEmpty && chunks.isEmpty }
  /// True if control records are left to send.
  var owesRecords: Bool { !records.isEmpty || !asked.isEmpty }

  mutating func note(queued bytes: Int) { queued = bytes }
  mutating func add(_ bytes: Int) { queued += bytes }

  mutating func ask(_ zone: ZoneID, beyond heads: [ControlID]) { asked[zone] = heads }
  mutating func answered(_ zone: ZoneID) { asked[zone] = nil }

  /// Delays control records, in place of the rest of an earlier answer.
  mutating func put(_ left: ArraySlice<ControlID>, of zone: ZoneID, closing: Message?) {
    records[zone] = Records(left: left, closing: closing)
  }

  /// Delays a chunk. A peer that requests more than can be delayed has to ask again.
  mutating func put(_ chunk: Chunk) {
    if chunks.count < Choices.chunksKeptBack { chunks.append(chunk) }
  }

  /// Takes the next piece, or nil if nothing is delayed or the connection accepts nothing now.
  mutating func takePiece() -> Piece? {
    guard hasRoom else { return nil }
    guard let zone = records.keys.min(), let rest = records[zone] else {
      return chunks.isEmpty ? nil : .chunk(chunks.removeFirst())
    }
    let left = rest.left.dropFirst(Limits.controlBatch)
    records[zone] = left.isEmpty ? nil : Records(left: left, closing: rest.closing)
    return .records(zone, rest.left.prefix(Limits.controlBatch), closing: left.isEmpty ? rest.closing : nil)
  }
}
