import MeshCore
import MeshCrypto

/// The copy of the account's public state in the home. Because of it, a restored database can't readmit a revoked
/// device.
final class AccountStateFile {
  private let home: Home
  private(set) var saved: AccountState

  init(_ home: Home, _ cryptography: Sodium) throws {
    var reader = ByteReader(try home.read(.accountState))
    guard let account = try? AccountState(from: &reader, cryptography) else {
      throw HomeError(.damaged, "\(home.path(of: .accountState)) is damaged: restore it from a backup of the home.")
    }
    (self.home, saved) = (home, account)
  }

  func save(_ account: AccountState) throws {
    guard account != saved else { return }
    try home.write(.accountState, account.encoded)
    saved = account
  }
}
