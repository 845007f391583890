public import MeshControl

/// The reason that a home, or a file in it, can't be used. The message names the thing, the rule and the remedy.
public struct HomeError: Error, Refusing, Equatable, CustomStringConvertible {
  /// The kinds of these errors.
  public enum Code: String, Sendable {
    /// There is no home at this path. `mesh init` creates one.
    case missing
    /// `mesh init` was called for a home that is already complete.
    case exists
    /// The home has no `config.toml`. `mesh init` was interrupted and has to be called again.
    case unfinished
    /// Other users can read private files, or the home belongs to another user.
    case permissions
    /// A symbolic link is in the place of a file or directory of the home.
    case symlink
    /// An entry has the wrong kind (a directory instead of a file, for example), or is too large.
    case kind
    /// Another process works on the home. `holder` says which.
    case locked
    /// A file of the home is missing.
    case fileMissing
    /// `config.toml` contains something that can't be understood.
    case configuration
    /// A name or path can't be used.
    case name
    /// The contents of a file of the home are damaged.
    case damaged
    /// The operating system refused.
    case system
  }

  /// The kind of the error, for programs.
  public let code: Code
  /// A text for people: the thing, the rule and the remedy.
  public let message: String
  /// The process that holds the lock, for `.locked`.
  public let holder: HomeLock.Holder?

  /// Creates an error.
  ///
  /// - Parameter holder: The process that has the lock, for `.locked`.
  public init(_ code: Code, _ message: String, holder: HomeLock.Holder? = nil) {
    self.code = code
    self.message = message
    self.holder = holder
  }

  public var description: String { message }

  package var refusal: Refusal { Refusal(code: "home.\(code.rawValue)", message: message) }
}
