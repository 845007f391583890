import Foundation

/// Calls `body` with a fresh directory of mode 0700 and removes it afterwards.
func withTemporaryDirectory<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let path = "/tmp/mesh-\(UInt64.random(in: 0..<1 << 40))"
  try FileManager.default.createDirectory(
    atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  defer { try? FileManager.default.removeItem(atPath: path) }
  return try await body(path)
}

func mode(of path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
}

func setMode(_ mode: Int, of path: String) throws {
  try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
}
