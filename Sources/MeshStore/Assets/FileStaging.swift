import Foundation
package import MeshCore

/// A staging in a directory, with a sparse file for each asset, named by its id.
///
/// It is `@unchecked` because one caller at a time uses it, as it does the store.
package final class FileStaging: AssetStaging, @unchecked Sendable {
  private let directory: String
  private var opened: (asset: AssetID, descriptor: Int32)?

  /// The bytes to leave free on the disk. BLOBs wait instead of filling the disk, because the database may be on it
  /// too, and its rows can't wait.
  static let reserve = 64 << 20

  /// Creates the directory (0700) if it is missing.
  package init(directory: String) throws {
    self.directory = directory
    guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
      throw StoreError(.cannotOpen, "\(directory) cannot be made: \(Self.reason)")
    }
  }

  deinit { if let opened { close(opened.descriptor) } }

  package func write(_ bytes: [UInt8], at offset: Int, of asset: AssetID) throws {
    guard let file = try descriptor(asset, creates: true) else { return }
    try bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let count = pwrite(file, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset + done))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw failure("written") }
        done += count
      }
    }
  }

  package func read(_ count: Int, at offset: Int, of asset: AssetID) throws -> [UInt8]? {
    guard let file = try descriptor(asset, creates: false) else { return nil }
    var done = 0
    let bytes = try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while done < count {
        let got = pread(file, buffer.baseAddress?.advanced(by: done), count - done, off_t(offset + done))
        if got < 0, errno == EINTR { continue }
        guard got >= 0 else { throw failure("read") }
        if got == 0 { break }
        done += got
      }
      initialized = done
    }
    return done == count ? bytes : nil
  }

  package func sync(_ asset: AssetID) throws {
    guard let file = try descriptor(asset, creates: false) else { return }
    guard fdatasync(file) == 0 else { throw failure("synced") }
    // The file's name is synced as well.
    let place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard place >= 0 else { throw failure("synced") }
    defer { close(place) }
    guard fsync(place) == 0 else { throw failure("synced") }
  }

  package func remove(_ asset: AssetID) throws {
    if let opened, opened.asset == asset {
      close(opened.descriptor)
      self.opened = nil
    }
    guard unlink(path(asset)) == 0 || errno == ENOENT else { throw failure("removed") }
  }

  package func shortage(_ bytes: Int) -> String? {
    var room = statvfs()
    guard statvfs(directory, &room) == 0 else { return nil }
    let free = Int(clamping: UInt64(room.f_bavail).multipliedReportingOverflow(by: UInt64(room.f_frsize)).partialValue)
    guard free - bytes < Self.reserve else { return nil }
    return
      "the disk of \(directory) has less than \(Self.reserve >> 20) MiB left: BLOBs wait until there is more room, rows do not"
  }

  package func assets() throws -> [AssetID] {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: directory) } catch { throw failure("listed") }
    return names.compactMap(Self.asset).sorted()
  }

  /// Returns the file's descriptor. One file stays open, because an asset's chunks are read and written one after
  /// another.
  private func descriptor(_ asset: AssetID, creates: Bool) throws -> Int32? {
    if let opened {
      if opened.asset == asset { return opened.descriptor }
      close(opened.descriptor)
      self.opened = nil
    }
    let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | (creates ? O_CREAT : 0)
    let file = open(path(asset), flags, 0o600)
    guard file >= 0 else {
      if errno == ENOENT, !creates { return nil }
      throw failure("opened")
    }
    opened = (asset, file)
    return file
  }

  private func path(_ asset: AssetID) -> String {
    let digits = Array("0123456789abcdef")
    return directory + "/" + String(asset.bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  private static func asset(_ name: String) -> AssetID? {
    let digits = name.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.map(UInt8.init) }
    guard digits.count == 2 * AssetID.size, name.utf8.count == digits.count else { return nil }
    return AssetID(stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
  }

  private static var reason: String { String(cString: strerror(errno)) }

  private func failure(_ verb: String) -> StoreError {
    let code: StoreError.Code = errno == ENOSPC || errno == EDQUOT ? .diskFull : .inputOutput
    let wayOut = errno == ENOENT ? "; put the directory back, and try again" : ""
    return StoreError(code, "the staging of assets in \(directory) cannot be \(verb): \(Self.reason)\(wayOut)")
  }
}
