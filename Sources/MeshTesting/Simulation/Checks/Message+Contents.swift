import MeshCore

extension Message {
  /// The zone of whose records, keys or BLOBs the message contains some.
  var contents: ZoneID? {
    switch self {
    case .changeSets(let zone, _), .keys(let zone, _), .assetChunk(let zone, _, _, _), .excerpt(let zone, _): zone
    default: nil
    }
  }

  /// The zone of which the message tells what is here or missing.
  var progress: ZoneID? {
    switch self {
    case .want(let zone, _), .upToDate(let zone, _), .have(let zone, _), .announceOnly(let zone),
      .digest(let zone, _, _, _), .digestRequest(let zone), .tips(let zone, _), .excerptRequest(let zone, _, _),
      .keyRequest(let zone, _), .assetWant(let zone, _, _), .assetHas(let zone, _, .some), .assetBacklog(let zone, _):
      zone
    case .acknowledgement(let acknowledgement): acknowledgement.zone
    default: nil
    }
  }

  /// The content of the message, in words.
  var name: String {
    switch self {
    case .changeSets: "change sets"
    case .keys: "keys"
    case .assetChunk: "a chunk of a BLOB"
    case .controlHeads, .controlRecords: "the control log"
    case .excerpt, .excerptRequest, .tips: "the tips of logs"
    default: "the progress"
    }
  }
}

extension AppSchema {
  /// Returns whether the records of a table can belong to records of another one, or whether both are the same.
  static func isBelow(_ name: String, _ root: String) -> Bool {
    if name == root { return true }
    let parents = (table(name)?.columns ?? []).compactMap { $0.reference?.parent }
    return parents.contains { $0 != name && isBelow($0, root) }
  }
}
