import Glibc
import MeshControl
import MeshCore
import MeshNode
import Synchronization

/// Prints the facts of a command on standard output, and everything else on standard error.
enum Output {
  /// Prints one or more lines. They must consist of fixed texts, or have gone through `printable`.
  static func print(_ text: String) {
    let fault = write("\(text)\n", to: STDOUT_FILENO)
    outputFault.withLock { $0 = $0 ?? fault }
  }

  /// The error number of the first text that could not be printed.
  private static let outputFault = Mutex<Int32?>(nil)

  /// Throws a `Refusal` if a printed text is lost, as on a full disk.
  static func requirePrinted() throws {
    guard let fault = outputFault.withLock({ $0 }) else { return }
    throw Refusal(
      code: "output.failed",
      message: "the output can't be written (\(String(cString: strerror(fault)))), so it is incomplete.")
  }

  /// Writes a text at once. Returns the error number if that fails.
  private static func write(_ text: String, to file: Int32) -> Int32? {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var output = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
        poll(&output, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  static func json(_ report: some Encodable) throws {
    print(String(decoding: try ControlJSON.encode(report, pretty: true), as: UTF8.self))
  }

  static func note(_ text: String) {
    _ = write("\(text)\n", to: STDERR_FILENO)
  }

  /// Prints a refusal. It may quote texts of a peer, so control characters are removed from each line.
  static func complain(_ refusal: Refusal) {
    let lines = refusal.message.split(separator: "\n", omittingEmptySubsequences: false).map { printable(String($0)) }
    note("mesh: " + lines.joined(separator: "\n      "))
  }

  /// Prints a refusal like the control interface: `{"error": {"code", "message", "exit"}}`.
  static func complainInJSON(_ refusal: Refusal) {
    guard let bytes = try? ControlJSON.encode(["error": refusal]) else { return complain(refusal) }
    note(String(decoding: bytes, as: UTF8.self))
  }

  /// Prints names and values, one pair a line, with the values aligned.
  static func facts(_ facts: [(String, String)]) {
    let width = facts.map(\.0.count).max() ?? 0
    for (name, value) in facts {
      print(name + String(repeating: " ", count: width - name.count + 2) + printable(value))
    }
  }

  static func blobs(_ amount: LackingAssets.Amount) -> String {
    "\(amount.assets.counted("BLOB", "BLOBs")) (\(amount.bytes.asBytes))"
  }

  /// Returns how many records are held on this machine, with the reasons.
  static func held(_ counts: [String: Int]) -> String {
    let count = counts.values.reduce(0, +)
    let reasons =
      counts.count == 1
      ? counts.keys.joined()
      : counts.sorted { $0.key < $1.key }
        .map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    return "\(count.counted("record is", "records are")) held here (\(reasons))"
  }

  /// Returns how many writes of this machine are not in a share, with the command that shows them.
  static func receipts(_ count: Int, of share: String) -> String {
    "\(count.counted("write", "writes")) made here \(count == 1 ? "is" : "are") not in a share: mesh share receipt \(share)"
  }

  /// Returns a value for a table. For a long text or BLOB, it is the beginning and the size.
  static func shortened(_ value: ReportedValue) -> String {
    switch value {
    case .text(let text) where text.count > textShown: "\(text.prefix(textShown))… (\(text.utf8.count) bytes)"
    case .blob(let bytes) where bytes.count > blobShown:
      "\(ReportedValue.blob(Array(bytes.prefix(blobShown)))) … (\(bytes.count) bytes)"
    default: "\(value)"
    }
  }

  /// The characters of a text and the bytes of a BLOB that fit into a line beside other columns.
  private static let (textShown, blobShown) = (48, 16)

  /// Returns `name (id)`, or the id if there is no name.
  static func named(_ id: String, _ name: String?) -> String { name.map { "\($0) (\(id))" } ?? id }
}
