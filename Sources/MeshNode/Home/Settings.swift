/// The configuration in use: that of `config.toml` at the last reading, with the options of the command line.
final class Settings {
  private(set) var configuration: HomeConfiguration

  init(_ configuration: HomeConfiguration) { self.configuration = configuration }

  /// Applies what takes effect immediately: all except another database or listening address.
  ///
  /// - Returns: True if that is everything.
  func apply(_ new: HomeConfiguration) -> Bool {
    let old = configuration
    configuration = new
    (configuration.database, configuration.listen) = (old.database, old.listen)
    return configuration == new
  }
}
