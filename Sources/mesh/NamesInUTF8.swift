import Glibc
import MeshControl
import MeshCore

/// Checks that every name that a command may take is UTF-8. Swift replaces other bytes, so that a command would work
/// with another file than the one that was named.
enum NamesInUTF8 {
  /// - Throws: `Refusal` with the name that isn't UTF-8.
  static func check() throws {
    for index in 1..<max(1, Int(CommandLine.argc)) {
      if let argument = CommandLine.unsafeArgv[index], !isValid(argument) {
        throw refusal("argument \(index), \(printed(argument)),")
      }
    }
    for variable in ["MESH_HOME", "XDG_STATE_HOME", "HOME"] {
      if let value = getenv(variable), !isValid(value) { throw refusal("$\(variable), \(printed(value)),") }
    }
    guard let directory = getcwd(nil, 0) else { return }
    defer { free(directory) }
    if !isValid(directory) { throw refusal("the current directory, \(printed(directory)),") }
  }

  private static func isValid(_ text: UnsafePointer<CChar>) -> Bool { String(validatingCString: text) != nil }

  private static func printed(_ text: UnsafePointer<CChar>) -> String { "“\(printable(String(cString: text)))”" }

  private static func refusal(_ name: String) -> Refusal {
    Refusal(
      code: "arguments.notUTF8",
      message:
        "\(name) is not UTF-8, and mesh would read it as another name. If it names a file, rename that, or use another path.",
      exit: .usage)
  }
}
