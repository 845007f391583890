import Foundation
import MeshControl
import MeshCore
import MeshStore

extension HealthCheck {
  /// The check of the SQLite library. It works without a home.
  static var library: HealthCheck {
    let library = SQLiteLibrary.loaded
    let fault =
      library.losesCommitsOnReset
      ? " It can lose commits if programs checkpoint and write at once; a running node prevents that." : ""
    return HealthCheck(
      "sqlite", .ok, "SQLite \(library.version).\(fault)",
      wayOut: library.losesCommitsOnReset
        ? "Version 3.51.3 and later are fixed. Programs that write to the file while no node runs need such a version."
        : nil)
  }

  /// The free bytes below which there is an alarm (`scarce`) or a warning (`low`). The first is enough for the flush of
  /// a large transaction and its log. The second gives about a day's notice on most disks that fill up.
  private static let scarce: UInt64 = 64 << 20
  private static let low: UInt64 = 512 << 20

  /// Returns one check for each file system that has some of the paths.
  static func disks(under paths: [String]) -> [HealthCheck] {
    let places = Dictionary(grouping: paths) { FileIdentity(at: $0)?.device ?? 0 }
    return places.values.sorted { $0[0] < $1[0] }.map(disk)
  }

  private static func disk(under paths: [String]) -> HealthCheck {
    let path = paths.joined(separator: " and ")
    var status = statvfs()
    guard statvfs(paths[0], &status) == 0 else {
      return HealthCheck("disk", .ok, "The disk under \(path) doesn't report its free space.")
    }
    let free = UInt64(status.f_bavail) * UInt64(status.f_frsize)
    let state: State = free < scarce ? .alarm : free < low ? .warning : .ok
    return HealthCheck(
      "disk", state, "\(Int(clamping: free).asBytes) are free under \(path).",
      wayOut: state == .ok ? nil : "Make room: with a full disk nothing is captured, and other programs fail too.",
      figures: ["freeMiB": Int(clamping: free >> 20)])
  }
}

/// Checks of the file, its log and its disk.
struct FileChecks: NodePart {
  let context: NodeContext

  func fileCheck() -> HealthCheck {
    let path = configuration.database
    if access(path, W_OK) != 0 {
      return HealthCheck(
        "database", .alarm, "\(path) cannot be written by this user.", wayOut: "Change its permissions, or its mount.")
    }
    return HealthCheck("database", .ok, "\(path) is there and can be written.")
  }

  /// Returns the check that fails if a program keeps the write lock.
  nonisolated(nonsending) func lockCheck() async throws -> HealthCheck? {
    try await lock.lastingMessage().map { HealthCheck("lock", .warning, $0, wayOut: WriteLock.wayOut) }
  }

  /// The seconds after which a log that can't be emptied is reported.
  private static let heldUp: Int64 = 60

  func logCheck() -> HealthCheck {
    let log = store.file.walStatus()
    let seconds = log.heldUpSince.map { max(0, time.milliseconds() - $0) / 1_000 } ?? 0
    let guarded = log.isGuarded ? "guarded" : !isRunning ? "not guarded, since no daemon runs" : "not guarded now"
    var what = "The write-ahead log has \(Int(log.bytes).asBytes) and is \(guarded)."
    if log.resets > 0 { what += " The node emptied it \(log.resets.counted("time", "times"))." }
    if log.foreignResets > 0 {
      what += " Programs that ask for RESTART or TRUNCATE did \(log.foreignResets.counted("time", "times"))."
    }
    if seconds > 0 { what += " It cannot be emptied since \(seconds) s." }
    if !log.readers.isEmpty {
      what += " Reading from it: \(log.readers.map(\.description).joined(separator: ", "))."
    }
    let state: HealthCheck.State =
      log.bytes > log.alarm ? .alarm : seconds > Self.heldUp || isRunning && !log.isGuarded ? .warning : .ok
    return HealthCheck(
      "write-ahead-log", state, what,
      wayOut: state == .ok
        ? nil
        : "A program that reads an old snapshot keeps the log from being copied: end its transaction, or the program. "
          + "With nobody reading, look for one that keeps the file locked.",
      figures: [
        "bytes": Int(log.bytes), "resets": log.resets, "foreignResets": log.foreignResets,
        "heldUpSeconds": Int(seconds),
        "readers": log.readers.count,
      ])
  }

  func captureChecks() throws -> [HealthCheck] {
    var checks = try TableAnswers(context: context).differentKeys().map {
      HealthCheck("table", .alarm, $0.what, wayOut: $0.wayOut)
    }
    checks += try store.capture.faults().map(check)
    checks += try store.capture.vanishedRows().map { table, rows in
      HealthCheck(
        "table", .alarm,
        "\(rows.counted("row has", "rows have")) vanished from \(table) unnoticed. SQLite calls no trigger for a row that a program "
          + "replaces by its rowid.",
        wayOut: "To delete them on every machine: mesh rescan \(table). To keep them, insert them again.")
    }
    checks += try store.capture.trackingFaults().map { fault in
      HealthCheck(
        "table", .warning, "A synchronized table has changed since it was tracked. \(fault)",
        wayOut: "If a table refuses a row of another machine, the row is held, and mesh held lists it.")
    }
    if try store.tables.areAllUntracked() {
      checks.append(
        HealthCheck(
          "capture", .warning, "No table of the file is tracked, so nothing is synchronized.",
          wayOut: "mesh track TABLE… mesh schema lists the tables of other devices."))
    }
    return (checks + (try repairChecks())).or("capture", "Every synchronized table is captured.")
  }

  /// Returns the alarms of tables that `captureChecks` looks at more closely.
  func uncapturedChecks() throws -> [HealthCheck] {
    try store.capture.uncapturedTables().map {
      HealthCheck("table", .alarm, "No write to \(printable($0)) is captured.", wayOut: "mesh doctor says why.")
    }
  }

  private func check(_ fault: StoreCapture.Fault) -> HealthCheck {
    switch fault {
    case .tableMissing(let table, let fate):
      HealthCheck(
        "table", .alarm, "\(table) is synchronized and is not in the file: \(fate.said).",
        wayOut: fate.wayOut(of: table))
    case .keyUnfit(let table):
      HealthCheck(
        "table", .alarm, "\(table) has no key any more that a mesh can use, and is not captured.",
        wayOut: "Give it a single-column primary key that is NOT NULL, or mesh untrack \(table).")
    case .keyChanged(let table, let was):
      HealthCheck(
        "table", .alarm,
        "The key of \(table) is not what it was when the table joined the mesh (\(was)): nothing is captured or shown.",
        wayOut: "Give it its key again. For another key make a table of another name, copy the rows, and mesh "
          + "track that on every machine; then mesh untrack \(table).")
    case .triggers(let table):
      HealthCheck(
        "triggers", .alarm, "Triggers of \(table) are missing or altered: writes to it are not captured.",
        wayOut: "A running node creates them again and compares the table with the merged rows: mesh serve.")
    case .silenced:
      HealthCheck(
        "silence", .alarm, "Some program has committed the mark that silences capture.",
        wayOut: "A running node resets it and compares the tables with the merged rows: mesh serve.")
    }
  }

  private func repairChecks() throws -> [HealthCheck] {
    let repairs = store.capture.repairs
    var checks: [HealthCheck] = []
    if repairs.silences > 0 {
      checks.append(
        HealthCheck(
          "silence", .warning,
          "The mark that silences capture was committed \(repairs.silences.counted("time", "times")) since the start; it was "
            + "reset, and the tables were compared.",
          wayOut: "Find the program that writes to mesh_state, and fix it.", figures: ["times": repairs.silences]))
    }
    checks += repairs.triggers.sorted(by: { $0.key < $1.key }).map { table, times in
      HealthCheck(
        "triggers", .warning,
        "Triggers of \(table) were missing or altered \(times.counted("time", "times")) since the start; they were "
          + "created again, and the table was compared.",
        wayOut: "Programs that change the schema need not touch triggers named mesh_capture_….",
        figures: ["times": times])
    }
    checks += try store.figures.intrudingTriggers().sorted(by: { $0.key < $1.key }).map { trigger, table in
      HealthCheck(
        "app-trigger", .warning,
        "The trigger \(trigger) writes to \(table) while rows of other machines are merged; mesh reverted what it wrote.",
        wayOut: "Give it the guard: WHEN (SELECT applying FROM mesh_state WHERE id = 1) IS NOT 1")
    }
    return checks
  }
}
