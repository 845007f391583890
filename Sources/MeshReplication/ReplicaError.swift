/// A fault of this node itself, which no peer can cause.
package enum ReplicaError: Error, CustomStringConvertible, Sendable {
  /// The home's device key is not a key.
  case badDeviceKey
  /// The store's account state belongs to another account or is not signed by it, so the database belongs to another
  /// home.
  case foreignDatabase
  /// The action needs the account's key or an administrator. The text says which machines can do it.
  case needsAccountKey(String)
  case unknownDevice(String)
  case notReady(String)

  package var description: String {
    switch self {
    case .badDeviceKey: "the device key in the home is not a key of 32 bytes: restore device.key from a backup"
    case .foreignDatabase:
      "the database belongs to another account than this home: give --home of the account it belongs to, or another database"
    case .needsAccountKey(let text), .unknownDevice(let text), .notReady(let text): text
    }
  }
}
