/// The steps of a replica's work, in their order. A step is done again before the later ones, until it has nothing to
/// do.
enum WorkStep: CaseIterable {
  case resumeDeletions
  case readControlLogs
  case upkeep
  case announceUnannounced
  /// Local rows come before the change sets of others, because a local edit must get its own stamp before remote changes
  /// are merged.
  case flush
  case carryOutReverts
  case writeAgain
  case merge
  case acknowledge
  case assets
  case tellBacklogs
  case dropEnded

  enum Outcome {
    /// Work was done, and more may be left.
    case made
    case nothing
    /// Nothing can be done before further input.
    case blocked

    init(hasMore: Bool) { self = hasMore ? .made : .nothing }
  }
}
