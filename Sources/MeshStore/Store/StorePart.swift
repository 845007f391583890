import MeshCore

/// A part of a store: a value, or a class that owns its state. It works in transactions of the store's access.
protocol StorePart { var access: StoreAccess { get } }

extension StorePart {
  var cryptography: any Cryptography { access.cryptography }
  /// The accounts of devices.
  var owners: Accounts { access.owners }

  /// Returns whether a device has a certificate of this account, and isn't revoked.
  func isOfThisAccount(_ device: DeviceID) -> Bool {
    let own = access.device.flatMap(owners.account(certifying:))
    return owners.account(certifying: device) == own && own.flatMap { owners[$0] }?.isExcluded(device) != true
  }

  func read<T>(_ body: (Transaction) throws -> T) throws -> T { try access.read(body) }

  /// See `StoreAccess.write`.
  func write<T>(isDurable: Bool = true, _ body: (Transaction) throws -> T) throws -> T {
    try access.write(isDurable: isDurable, body)
  }

  /// See `StoreAccess.transact`.
  func transact<T>(isDurable: Bool = true, _ body: (Transaction) throws -> Ending<T>) throws -> T {
    try access.transact(isDurable: isDurable, body)
  }

  func guarding<T>(_ body: () throws -> T) throws -> T { try access.guarding(body) }

  func reached(_ branch: RareBranch) { access.reached(branch) }
}
