/// A branch of the store or the replica that few histories take. The simulator counts how often its runs take each of
/// them, so that nobody believes a branch to be tested that no run reaches.
package enum RareBranch: String, Sendable, CaseIterable {
  // MARK: Merging

  /// Several units are merged in one transaction.
  case unitsMergedTogether
  /// A unit that doesn't fit beside others is left to the next transaction, and comes first there.
  case unitPutFirst
  /// One transaction merges a part of a unit.
  case unitMergedInSlices
  /// A transaction is repeated with fewer units, because one of them can't be merged.
  case mergeShortened
  /// Local rows are flushed in the transaction that merges changes of others.
  case flushedInMerge
  /// Only the local rows of the merged records are flushed in that transaction.
  case matchesFlushedInMerge
  /// Merging waits, because a record is moving to another zone.
  case mergeWaitsForMove
  /// A unit turns out to break a rule of the format.
  case unitMalformed
  /// A part of a unit is merged and then reverted, because the unit breaks a rule.
  case partOfUnitReverted
  /// An app's trigger rolls back a transaction of the store.
  case transactionRolledBack
  /// A row has other values than the merged ones, and nothing in the log explains it.
  case writeUnnoticed
  /// A record that was hidden is shown.
  case hiddenRowShown
  /// A row stays that refers to a key which its parent had before.
  case keyRenamed
  /// A row stays that refers to a missing row, because it was written here with foreign keys off.
  case rowShownHereOnly
  /// A shown value is computed from parts, such as the increments of several devices.
  case partsFolded

  // MARK: Reverts

  /// A cutoff is inside a unit.
  case revertInsideUnit
  /// A revert continues that a crash interrupted.
  case revertResumed
  /// Reverted changes are written again under another instance.
  case writtenAgain
  /// Reverted change sets are valid again, and return from where they were kept.
  case storedAgain
  /// A local write that its zone did not accept is kept for its writer.
  case receiptKept

  // MARK: Flushing

  /// More rows are pending than one part can hold.
  case runBegun
  /// A run ends early, because its rows got another zone or were given up.
  case runEndedByRouting
  /// Rows that had found a zone get another one.
  case rowsRerouted
  /// A record moves to another zone.
  case recordMoved
  /// A record arrives in a zone that has it already.
  case movedOntoItself
  /// A record arrives in a zone that has another record with its key.
  case movedOntoAnother
  /// Moves are canceled, because their target is a share that is being left.
  case movesTurnedBack
  /// A share is left, because its root was deleted here.
  case leftByDeletingRoot
  /// A row of a share that ended stays as a private record.
  case newRowKeptAsPrivate
  /// A column continues under its new name.
  case columnRenamed
  /// A table continues under its new name.
  case tableRenamed
  /// Children of a deleted row are deleted, because their writer has foreign keys off.
  case childrenDeleted
  /// A reference is NULL because its parent was deleted, and is not sent.
  case resetDerived
  /// A long value travels in pieces.
  case valueSentInPieces

  // MARK: Files

  /// The file's last transaction is not the one that the store knows.
  case otherHistoryFound
  /// Increments are left to the instance that had counted them in a file that was copied.
  case incrementsLeft
  /// Capture was turned off by a committed mark.
  case silenceEnded
  /// A copy of a share that ended is kept.
  case copyKept

  // MARK: Assets

  /// An asset is synced before another device may give up its copy.
  case assetSettled
  /// Only the changed chunks of a BLOB are written into its row.
  case assetPatched
  /// A BLOB is removed from its rows.
  case assetEvicted
  /// A program writes while a BLOB is to be evicted.
  case evictionInterrupted
  /// A peer gives a wrong chunk.
  case chunkWrong

  // MARK: Programs in between

  /// A write transaction is about to begin, and other programs may commit before it. This one isn't rare.
  case transactionBegins

  // MARK: Control

  /// A cutoff rises.
  case limitRaised
  /// Two branches of an author are proven.
  case forkProven
  /// An author is proven to have too many instances.
  case excessProven
  /// A peer has a change set that this device signed, and this file doesn't have it.
  case ownChangeSetMet
  /// This device continues as a new instance.
  case instanceRenewed
  /// An epoch is created whose key replaces the previous one.
  case epochChanged
  /// Merging waits for a key.
  case mergeWaitsForKey
  /// The rows of a share that ended for this account are deleted.
  case shareEnded
  /// An account is admitted again while the rows of its former membership are being deleted.
  case readmittedWhileEnding
  /// An account is admitted and removed by records that arrive together.
  case admittedAndRemovedTogether
  /// Change sets have to wait, because too many bytes of their author wait already.
  case overQuota
  /// Nothing is signed, because this device's clock is not believed.
  case clockNotBelieved
}

/// Notes that a branch was taken. A node has none, and each branch costs it a comparison with nil.
package typealias BranchProbe = (RareBranch) -> Void
