import Glibc
import Synchronization

/// An advisory lock on an open file (`flock`), so a crash leaves nothing behind. The file says which process has it.
final class FileLock: Sendable {
  /// The open file, or nil once released.
  private let descriptor: Mutex<Int32?>
  /// The note of the process that had the lock before, or empty.
  private let formerNote: String

  enum Failure: Error {
    /// Another process has the lock. The note is the text that it wrote, or empty before it has written one.
    case taken(note: String)
    case system(HomeError)
  }

  /// Takes the lock immediately or throws, and writes `note`, one line of text.
  init(path: String, note: String) throws(Failure) {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode_t(0o600))
    guard descriptor >= 0 else { throw .system(Disk.failure("open", path)) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      defer { close(descriptor) }
      guard errno == EWOULDBLOCK else { throw .system(Disk.failure("lock", path)) }
      throw .taken(note: Self.note(descriptor))
    }
    self.descriptor = Mutex(descriptor)
    formerNote = Self.note(descriptor)
    guard ftruncate(descriptor, 0) == 0 else { throw .system(Disk.failure("write", path)) }
    do throws(HomeError) {
      try Disk.write(Array("\(note)\n".utf8), to: descriptor, path)
    } catch {
      throw .system(error)
    }
  }

  deinit { release() }

  /// Releases the lock. Further calls do nothing.
  ///
  /// - Parameter restoresNote: Whether the file gets the note back that it had before.
  func release(restoringNote restoresNote: Bool = false) {
    descriptor.withLock { descriptor in
      if let open = descriptor {
        if restoresNote, !formerNote.isEmpty, ftruncate(open, 0) == 0 {
          // Without its note, the file is still a lock.
          _ = formerNote.withCString { pwrite(open, $0, strlen($0), 0) }
        }
        close(open)
      }
      descriptor = nil
    }
  }

  private static let noteLimit = 4_096

  private static func note(_ descriptor: Int32) -> String {
    var buffer = [UInt8](repeating: 0, count: noteLimit)
    let count = pread(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { return "" }
    return String(decoding: buffer[..<count], as: UTF8.self).split(separator: "\n").first.map(String.init) ?? ""
  }
}
