import MeshCore
import MeshCrypto
import MeshReplication

/// The account's signing key in a home, and the key that is about to replace it.
///
/// A new key is stored durably before any other device hears of it. It replaces the former key once the account names
/// it. If the process dies in between, the next start finds out which of the two the account names.
struct AccountKeyFile {
  let home: Home

  /// Puts a prepared key in place if the account names it, and makes the replica sign with it.
  func settle(_ replica: Replica) throws {
    guard try home.exists(.nextAccountKey) else { return }
    let bytes = try home.read(.nextAccountKey)
    if let key = try? AccountKey(encoded: bytes), key.publicKey == replica.account.signingKey {
      try home.write(.accountKey, bytes)
      replica.administration.sign(with: AccountSigner(publicKey: key.publicKey) { key.sign($0) })
    }
    try home.remove(.nextAccountKey)
  }

  /// Replaces the account's key with a new one.
  func replace(
    in replica: Replica, recovery: RecoveryKey, readmitting readmitted: Set<DeviceID>, randomness: any Randomness,
    now: Moment
  ) throws {
    let key = AccountKey(randomness: randomness)
    try home.write(.nextAccountKey, key.encoded)
    try replica.administration.replaceKey(
      with: AccountSigner(publicKey: key.publicKey) { key.sign($0) },
      recovery: AccountSigner(publicKey: recovery.publicKey) { recovery.sign($0) }, readmitting: readmitted, now: now)
    try home.write(.accountState, replica.account.encoded)
    try settle(replica)
  }
}
