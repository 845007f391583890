public import MeshControl

/// Why a home, or a file of it, cannot be used. The message names the thing, the rule and the way out.
public struct HomeError: Error, Refusing, Equatable, CustomStringConvertible {
  public enum Code: String, Sendable {
    /// There is no home at this path: `mesh init` makes one.
    case missing
    /// `mesh init` was called for a home that is complete already.
    case exists
    /// The home has no `config.toml`: `mesh init` stopped half-way, and has to be called again.
    case unfinished
    /// Others can read what is ours alone, or it belongs to somebody else.
    case permissions
    /// A symbolic link stands where a file or directory of the home should be.
    case symlink
    /// What is there is not of the kind it should be (a directory, a file), or is too large.
    case kind
    /// Another process works on the home; `holder` says which.
    case locked
    /// A file of the home is not there.
    case fileMissing
    /// `config.toml` says something that cannot be understood.
    case configuration
    /// A name or path that cannot be used.
    case name
    /// A file of the home is not what was written there.
    case damaged
    /// The operating system refused.
    case system
  }

  public let code: Code
  public let message: String
  /// Who holds the lock, for `.locked`.
  public let holder: HomeLock.Holder?

  public init(_ code: Code, _ message: String, holder: HomeLock.Holder? = nil) {
    self.code = code
    self.message = message
    self.holder = holder
  }

  public var description: String { message }

  package var refusal: Refusal { Refusal(code: "home.\(code.rawValue)", message: message) }
}
