package import MeshCore
package import MeshCrypto
import MeshReplication

/// An account and its devices' keys, all derived from one seed. Tests and simulations start with it.
package struct TestAccount: Sendable {
  package let key: AccountKey
  package let recovery: AccountKey
  package let devices: [DeviceKeys]
  /// The state that knows every device.
  package let state: AccountState

  /// - Parameter now: The time of the certificates, in milliseconds since 1970.
  package init(devices count: Int, seed: UInt64, now: Int64 = VirtualClock.epoch) throws {
    let randomness = SeededRandomness(seed: seed, stream: 1)
    let cryptography = try Sodium(randomness: randomness)
    let key = AccountKey(randomness: randomness)
    recovery = AccountKey(randomness: randomness)
    let genesis = AccountGenesis(
      signingKey: key.publicKey, recoveryKey: recovery.publicKey, salt: randomness.bytes(16))
    guard var state = AccountState(genesis, cryptography) else { throw ReplicaError.badDeviceKey }
    var devices: [DeviceKeys] = []
    for index in 0..<count {
      let keys = DeviceKeys(randomness: randomness)
      state.insert(try Self.certificate(keys, "n\(index)", state.id, key, randomness, now), cryptography)
      devices.append(keys)
    }
    self.key = key
    self.devices = devices
    self.state = state
  }

  private static func certificate(
    _ keys: DeviceKeys, _ name: String, _ account: AccountID, _ key: AccountKey, _ randomness: SeededRandomness,
    _ now: Int64
  ) throws -> Certificate {
    guard let request = CertificateRequest(name: name, for: account, secrets: keys) else {
      throw ReplicaError.badDeviceKey
    }
    return Certificate(
      account: account, request: request, serial: randomness.bytes(16), issued: now, sign: key.sign)
  }

  package func device(_ index: Int) throws -> DeviceID {
    guard let device = DeviceID(devices[index].signingKey) else { throw ReplicaError.badDeviceKey }
    return device
  }

  /// Returns the account's state as known to a device that the first one linked and that has met no other device.
  package func state(knowing indexes: [Int], _ cryptography: any Cryptography) throws -> AccountState {
    guard var known = AccountState(state.genesis, cryptography) else { throw ReplicaError.badDeviceKey }
    for index in indexes {
      if let certificate = state.certificates[try device(index)] { known.insert(certificate, cryptography) }
    }
    return known
  }
}
