import Foundation
import MeshControl
import MeshNode
import Testing

/// Decisions about a home alone, without a node.
@Suite struct HomeProcessTests {
  private func makeHome(_ mesh: MeshProcess) throws -> Home {
    let home = try Home.create(at: mesh.home)
    try home.write(.deviceKey, [1])
    try home.write(HomeConfiguration(database: mesh.database))
    return home
  }

  /// The required arguments of commands.
  private static let arguments = [
    "track": ["x"], "untrack": ["x"], "device revoke": ["x"], "device promote": ["x"], "device demote": ["x"],
    "device confirm": ["x"], "held resolve": ["x", "y", "--keep", "shown"], "held discard": ["x", "y"],
    "conflicts dismiss": ["1"],
    "asset show": ["x", "y"], "asset fetch": ["x"], "asset evict": ["x", "y"], "asset policy": ["x", "always"],
    "restore": ["x", "y"], "explain record": ["x", "y"], "backup": ["x"], "share create": ["x", "y"],
    "share rename": ["x", "y"], "share invite": ["x", "--permission", "read-only"], "share join": ["x", "--yes"],
    "share invites": ["x"], "share uninvite": ["x", "y"], "share set-permission": ["x", "y", "read-only"],
    "share remove": ["x", "y"], "share leave": ["x"], "share stop": ["x"], "share show": ["x"], "share receipt": ["x"],
  ]

  /// Groups of commands, and commands that need no home.
  private static let without = [["init"], ["device"], ["account"], ["doctor"], ["share"], ["explain"]]

  @Test("a name that is not UTF-8 is refused, and so are a file's second name and the name of a log")
  func names() async throws {
    try await MeshProcess.scope { mesh in
      let binary = try Child.binary()
      func shell(_ command: String) async throws -> Finished {
        try await mesh.start(["sh", "-c", command, binary], executable: MeshProcess.env)
          .finished(within: MeshProcess.deadline)
      }
      let argument = try await shell("\"$0\" init --database \"$(printf '/tmp/d\\377.db')\"")
      #expect(argument.status == ExitStatus.usage.rawValue && argument.stderr.contains("is not UTF-8"))
      let directory = try await shell(
        "cd '\(mesh.directory)' && mkdir \"$(printf 'd\\377')\" && cd \"$(printf 'd\\377')\" && \"$0\" init --database n.db"
      )
      #expect(directory.status == ExitStatus.usage.rawValue && directory.stderr.contains("the current directory"))
      try await mesh.sqlite(MeshProcess.schema)
      try FileManager.default.linkItem(atPath: mesh.database, toPath: mesh.database + "2")
      let linked = try await mesh.run("init", "--database", mesh.database)
      #expect(linked.status == ExitStatus.refused.rawValue && linked.stderr.contains("2 names (hard links)"))
      try FileManager.default.removeItem(atPath: mesh.database + "2")
      try await mesh.done("init", "--database", mesh.database)
      for suffix in ["-journal", "-wal", "-shm", "-mesh-lock"] where suffix != "-mesh-lock" {
        let backup = try await mesh.run("backup", mesh.directory + "/other.db" + suffix)
        #expect(backup.status == 0, "there is no such database: \(backup.stderr)")
        let refused = try await mesh.run("backup", mesh.database + suffix)
        #expect(refused.status == ExitStatus.refused.rawValue && !refused.stderr.isEmpty)
      }
      let journal = try await mesh.run("backup", mesh.database + "-journal")
      #expect(journal.stderr.contains("belongs to \(mesh.database)"))
    }
  }

  @Test("doctor, wait and verify say if no table is tracked, and doctor says if the account's key is gone")
  func whatIsMissing() async throws {
    try await MeshProcess.scope { mesh in
      try await mesh.sqlite(MeshProcess.schema)
      try await mesh.done("init", "--database", mesh.database)
      _ = try await mesh.serve()
      for verb in ["wait", "verify"] {
        let refused = try await mesh.run(verb)
        #expect(refused.status == ExitStatus.refused.rawValue && refused.stderr.contains("no table of"))
      }
      let untracked = try await mesh.run("doctor")
      #expect(
        untracked.status == ExitStatus.no.rawValue && untracked.stdout.contains("No table of the file is tracked"))
      try await mesh.done("track", "notes", "tags")
      let tracked = try await mesh.run("doctor")
      #expect(tracked.status == 0 && !tracked.stdout.contains("No table"))
      try FileManager.default.removeItem(atPath: mesh.home + "/account.key")
      let keyless = try await mesh.run("doctor")
      #expect(keyless.status == ExitStatus.no.rawValue && keyless.stdout.contains("account.key is gone"))
    }
  }

  @Test(
    "without a home, each command that needs one says how to make it",
    arguments: CommandLineTests.verbs.filter { !without.contains($0) })
  func withoutAHomeEveryVerbSaysHowToMakeOne(verb: [String]) async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run(verb + (Self.arguments[verb.joined(separator: " ")] ?? []))
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("there is no node's home at \(mesh.home)"))
      #expect(finished.stderr.contains("mesh init"))
      #expect(finished.stdout.isEmpty)
    }
  }

  @Test(
    "a command that needs the daemon says how to start it",
    arguments: [
      ["peers"], ["verify"], ["wait"], ["device", "invite"], ["device", "revoke", "laptop"],
    ])
  func whatNeedsTheDaemonSaysSo(verb: [String]) async throws {
    try await MeshProcess.scope { mesh in
      _ = try makeHome(mesh)
      let finished = try await mesh.run(verb)
      #expect(finished.status == ExitStatus.daemonNeeded.rawValue)
      #expect(finished.stderr.contains("No daemon runs on this home. Start it: mesh serve"))
    }
  }

  @Test("--home takes precedence over the environment") func theHomeOptionWinsOverTheEnvironment() async throws {
    try await MeshProcess.scope { mesh in
      let finished = try await mesh.run("status", "--home", "\(mesh.directory)/elsewhere")
      #expect(finished.stderr.contains("\(mesh.directory)/elsewhere"))
    }
  }

  @Test(
    "a command rejects a home whose key others can read and names the chmod", arguments: ["status", "serve", "peers"])
  func aHomeThatOthersCanReadIsRefused(verb: String) async throws {
    try await MeshProcess.scope { mesh in
      let home = try makeHome(mesh)
      let key = home.path(of: .deviceKey)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: key)
      let finished = try await mesh.run(verb)
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("chmod 600 \(key)"))
    }
  }

  @Test("serve exits and names the process that holds the home's lock") func aSecondDaemonNamesTheFirst() async throws {
    try await MeshProcess.scope { mesh in
      let lock = try makeHome(mesh).lock(as: .daemon)
      let finished = try await mesh.run("serve")
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("a daemon (process \(getpid())) serves \(mesh.home)"))
      lock.release()
    }
  }

  @Test("init rejects a home that is already complete") func initRefusesAHomeThatIsComplete() async throws {
    try await MeshProcess.scope { mesh in
      _ = try makeHome(mesh)
      let finished = try await mesh.run("init", "--database", mesh.database)
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("is a node's home already"))
    }
  }

  @Test("init rejects a home that another process is making, and names the process")
  func initRefusesAHomeThatAnotherProcessMakes() async throws {
    try await MeshProcess.scope { mesh in
      let lock = try Home.create(at: mesh.home).lock(as: .verb)
      let finished = try await mesh.run("init", "--database", mesh.database)
      #expect(finished.status == ExitStatus.refused.rawValue)
      #expect(finished.stderr.contains("process \(getpid())"))
      lock.release()
    }
  }

  @Test("the recovery key is shown until it is confirmed, and erased then")
  func theRecoveryKeyIsKeptUntilItIsConfirmedAndThenGone() async throws {
    try await MeshProcess.scope { mesh in
      let home = try makeHome(mesh)
      try home.write(.accountKey, [1])
      try home.write(.recoveryKey, Array("recovery-abc\n".utf8))
      let asked = try await mesh.run("account", "recovery", input: "no\n")
      #expect(asked.status == ExitStatus.no.rawValue)
      #expect(asked.stdout == "recovery-abc\n")
      let unanswered = try await mesh.run("account", "recovery")
      #expect(unanswered.status == ExitStatus.no.rawValue)
      let full = try await mesh.start(
        ["sh", "-c", "\"$0\" account recovery --yes > /dev/full", Child.binary()], executable: MeshProcess.env
      ).finished(within: MeshProcess.deadline)
      #expect(full.status == ExitStatus.refused.rawValue && full.stderr.contains("the output can't be written"))
      #expect(try home.exists(.recoveryKey), "nobody has read it")
      let confirmed = try await mesh.run("account", "recovery", input: "written\n")
      #expect(confirmed.status == ExitStatus.done.rawValue)
      #expect(confirmed.stdout == "recovery-abc\n")
      #expect(try !home.exists(.recoveryKey))
      let late = try await mesh.run("account", "recovery", "--yes")
      #expect(late.status == ExitStatus.refused.rawValue)
      #expect(late.stdout.isEmpty)
      #expect(late.stderr.contains("has been shown and erased"))
    }
  }
}
