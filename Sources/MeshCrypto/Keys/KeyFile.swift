/// The form of a key file: a title that names kind and version, the seeds, and BLAKE2b-128 of both. The hash makes a
/// damaged file invalid, so that it doesn't open to other keys.
enum KeyFile: String {
  case device = "mesh/1/device-key"
  case account = "mesh/1/account-key"

  private static let checksumSize = 16

  private var title: [UInt8] { Array(rawValue.utf8) }

  private var seedBytes: Int {
    switch self {
    case .device: DeviceKeys.seedCount * DeviceKeys.seedSize
    case .account: Ed25519.seedSize
    }
  }

  func encode(_ seeds: [UInt8]) -> [UInt8] {
    let content = title + seeds
    return content + Blake2b.hash(content, count: Self.checksumSize)
  }

  func decode(_ bytes: [UInt8]) throws(CryptoError) -> [UInt8] {
    guard bytes.starts(with: title) else {
      throw CryptoError(.keyFile, "this is not a key file of the kind and version “\(rawValue)”")
    }
    let size = title.count + seedBytes + Self.checksumSize
    guard bytes.count == size else {
      throw CryptoError(.keyFile, "a key file “\(rawValue)” has \(size) bytes, this one has \(bytes.count)")
    }
    let content = Array(bytes.dropLast(Self.checksumSize))
    guard Blake2b.hash(content, count: Self.checksumSize) == Array(bytes.suffix(Self.checksumSize)) else {
      throw CryptoError(.keyFile, "the key file is damaged: its checksum does not match; restore it from a copy")
    }
    return Array(content.dropFirst(title.count))
  }
}
