import MeshCore
import MeshCrypto
import MeshReplication
import MeshTesting
import Testing

/// One device with two files: a restored or copied file, or a home that was copied as a whole.
@Suite struct ForkTests {
  private func expectEqual(_ mesh: TestMesh, _ location: SourceLocation = #_sourceLocation) throws {
    let zone = try mesh.zone
    let first = mesh.nodes[0].store
    for node in mesh.nodes.dropFirst() {
      #expect(node.store.digest(zone) == first.digest(zone), sourceLocation: location)
      #expect(node.store.mergedVector(zone) == first.mergedVector(zone), sourceLocation: location)
      #expect(node.store.rows == first.rows, sourceLocation: location)
      #expect(node.store.pendingCount() == 0, sourceLocation: location)
    }
  }

  /// Lets all nodes meet often enough. The two copies never meet, because they are one device.
  private func settle(_ mesh: TestMesh) throws {
    for _ in 0..<4 {
      for a in mesh.nodes.indices {
        for b in mesh.nodes.indices where b < a && mesh.nodes[a].device != mesh.nodes[b].device {
          try mesh.meet(a, b)
          try mesh.wait(5_001)
        }
      }
    }
  }

  /// Creates three devices that know each other and a row, and a copy of the third that doesn't know it is one.
  private func forkable() throws -> TestMesh {
    let mesh = try TestMesh(3)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    try mesh.write(2, "shared", "before")
    try mesh.meet(2, 0)
    try mesh.meet(1, 0)
    try mesh.addCopy(of: 2)
    return mesh
  }

  @Test(
    "branches end where they part, whoever merged which, and nothing is lost",
    arguments: TestSeeds.through(60 as UInt64))
  func branchesEndWhereTheyPartWhoeverMergedWhichAndNothingIsLost(seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    let mesh = try forkable()
    var written: Set<String> = []
    for step in 0..<24 {
      let node = Int.random(in: 0..<4, using: &generator)
      if Bool.random(using: &generator) {
        try mesh.write(node, "\(node)-\(step)", "true")
        written.insert("\(node)-\(step)")
        // The write builds on values of others, which may be cut.
        if let name = mesh.nodes[node].store.rows.keys.sorted().randomElement(using: &generator),
          case .text(let key) = name.key
        {
          try mesh.write(node, String(decoding: key, as: UTF8.self), "edited by \(node) at \(step)")
        }
      } else {
        let other = Int.random(in: 0..<4, using: &generator)
        if mesh.nodes[node].device != mesh.nodes[other].device { try mesh.meet(node, other) }
      }
      try mesh.wait(1_000)
    }
    try settle(mesh)
    try expectEqual(mesh)
    let keys = Set(mesh.nodes[0].store.rows.keys.map(\.key))
    for key in written { #expect(keys.contains(.text(key)), "\(key)") }
  }

  @Test("two who merged a branch each, with equal numbers, find it out")
  func twoWhoMergedABranchEachWithEqualNumbersFindItOut() throws {
    let mesh = try forkable()
    try mesh.write(2, "a", "one")
    try mesh.write(3, "b", "other")
    try mesh.meet(2, 0)
    try mesh.meet(3, 1)
    let zone = try mesh.zone
    #expect(mesh.nodes[0].store.mergedVector(zone) == mesh.nodes[1].store.mergedVector(zone))
    try mesh.meet(1, 0)
    #expect(
      mesh.title(0, "a") == .text("one") && mesh.title(1, "b") == .text("other"),
      "cut, and written again by the devices of the account that have them")
    #expect(mesh.nodes[0].store.digest(zone) == mesh.nodes[1].store.digest(zone))
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.title(0, "a") == .text("one") && mesh.title(0, "b") == .text("other"))
    for copy in 2...3 { #expect(!mesh.nodes[copy].replica.notices.isEmpty) }
  }

  @Test("a long fork is found, far below its end") func aLongForkIsFoundFarBelowItsEnd() throws {
    let mesh = try forkable()
    for number in 0..<(2 * Limits.excerpt + 9) {
      try mesh.write(2, "a\(number)", "one")
      try mesh.write(3, "b\(number)", "other")
    }
    try mesh.meet(2, 0)
    try mesh.meet(3, 1)
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.nodes[0].store.rows.count == 1 + 2 * (2 * Limits.excerpt + 9))
  }

  @Test("a deleted and an edited row are deleted and edited again")
  func aDeletedAndAnEditedRowAreDeletedAndEditedAgain() throws {
    let mesh = try forkable()
    mesh.nodes[2].store.delete(RecordName(table: "list", key: .text("shared")))
    mesh.nodes[2].replica.databaseChanged()
    try mesh.write(3, "other", "of the copy")
    try mesh.meet(2, 0)
    try mesh.meet(3, 1)
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.title(0, "shared") == nil && mesh.title(0, "other") == .text("of the copy"))
  }

  @Test("an older file under the same home writes on as a new instance, and gets back what it lacks")
  func anOlderFileUnderTheSameHomeWritesOnAsANewInstanceAndGetsBackWhatItLacks() throws {
    let mesh = try TestMesh(2)
    try mesh.meet(1, 0)
    let older = mesh.nodes[1].store.copy()
    try mesh.write(1, "a", "lost with the disk")
    try mesh.meet(1, 0)
    let before = try #require(mesh.nodes[1].store.instance(mesh.zone))
    let signed = mesh.now.wall
    try mesh.wait(1_000)
    try mesh.restart(1, store: older)
    #expect(try mesh.nodes[1].store.instance(mesh.zone) != before)
    #expect(mesh.nodes[1].replica.notices.count == 1)
    #expect(mesh.nodes[1].replica.notices.first?.contains("the database was restored from a copy") == true)
    #expect(try mesh.nodes[1].store.sentThrough[mesh.zone] == signed, "later writes were never sent")
    try mesh.write(1, "b", "written on")
    try mesh.meet(1, 0)
    try expectEqual(mesh)
    #expect(mesh.title(1, "a") == .text("lost with the disk") && mesh.title(0, "b") == .text("written on"))
    #expect(mesh.nodes[0].replica.refusals["fork"] == nil)
  }

  @Test("an older file under an older home learns from others that it is one, before it writes")
  func anOlderFileUnderAnOlderHomeLearnsFromOthersThatItIsOneBeforeItWrites() throws {
    let mesh = try TestMesh(2)
    try mesh.write(1, "early", "kept")
    try mesh.meet(1, 0)
    let (older, home) = (mesh.nodes[1].store.copy(), mesh.nodes[1].vault.copy())
    home.isFromElsewhere = false
    try mesh.write(1, "a", "lost with the disk")
    try mesh.meet(1, 0)
    try mesh.restart(1, store: older, vault: home)
    #expect(mesh.nodes[1].replica.notices.isEmpty)
    try mesh.meet(1, 0)
    try mesh.write(1, "b", "written on")
    try mesh.meet(1, 0)
    try expectEqual(mesh)
    #expect(mesh.nodes[0].store.rows.count == 3)
    #expect(mesh.nodes[0].replica.refusals["fork"] == nil && mesh.nodes[1].replica.notices.count == 1)
  }

  @Test("a part of a branch that only another device of the account has comes back")
  func branchOfAnotherDevice() throws {
    let mesh = try TestMesh(3)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    try mesh.write(1, "early", "kept")
    try mesh.meet(1, 0)
    let (older, home) = (mesh.nodes[1].store.copy(), mesh.nodes[1].vault.copy())
    home.isFromElsewhere = false
    try mesh.write(1, "sent", "before the restore")
    try mesh.write(1, "early", "edited")
    try mesh.meet(1, 0)
    try mesh.restart(1, store: older, vault: home)
    // The device writes before it meets another one, which is a fork.
    try mesh.write(1, "written", "after the restore")
    try settle(mesh)
    try expectEqual(mesh)
    #expect(!mesh.nodes[1].replica.notices.isEmpty)
    #expect(mesh.title(1, "sent") == .text("before the restore"))
    #expect(mesh.title(1, "early") == .text("edited"))
    #expect(mesh.title(2, "written") == .text("after the restore"))
  }

  @Test("a file from before the last instance continues with a new one, even if it wrote nothing as its own")
  func fileFromBeforeTheInstance() throws {
    let mesh = try TestMesh(2)
    try mesh.meet(1, 0)
    try mesh.write(1, "begin", "the instance")
    let zone = try mesh.zone
    let first = try #require(mesh.nodes[1].store.instance(zone))
    // The file is in the state when that instance had begun and written nothing.
    let older = mesh.nodes[0].store.copy()
    older.beginInstance(first, zone: zone)
    try mesh.meet(1, 0)
    mesh.nodes[1].vault.isFromElsewhere = true
    try mesh.restart(1)
    #expect(mesh.nodes[1].store.instance(zone) != first)
    try mesh.restart(1, store: older)
    #expect(mesh.nodes[1].store.instance(zone) != first)
    try mesh.write(1, "on", "written on")
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.nodes[0].replica.refusals["fork"] == nil)
  }

  @Test("a copied home that notices writes as a new instance, and both are told")
  func aCopiedHomeThatNoticesWritesAsANewInstanceAndBothAreTold() throws {
    let mesh = try TestMesh(3)
    try mesh.meet(1, 0)
    try mesh.meet(2, 0)
    try mesh.write(2, "a", "before")
    let copy = try mesh.addCopy(of: 2, isNoticed: true)
    #expect(try mesh.nodes[copy].store.instance(mesh.zone) != mesh.nodes[2].store.instance(mesh.zone))
    try mesh.write(2, "b", "of one")
    try mesh.write(copy, "c", "of the other")
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.nodes[0].store.rows.count == 3)
    #expect(mesh.nodes[0].replica.refusals["fork"] == nil)
    #expect(mesh.nodes[2].replica.notices.count == 1 && mesh.nodes[copy].replica.notices.count == 1)
    // The copy now knows its place.
    let instance = mesh.nodes[copy].store.instance(try mesh.zone)
    try mesh.restart(copy)
    #expect(mesh.nodes[copy].store.instance(try mesh.zone) == instance)
  }

  @Test("a database of another device is written as this one") func aDatabaseOfAnotherDeviceIsWrittenAsThisOne() throws
  {
    let mesh = try TestMesh(3)
    try mesh.meet(1, 0)
    try mesh.write(1, "a", "before")
    try mesh.meet(1, 0)
    try mesh.restart(2, store: mesh.nodes[1].store.copy())
    #expect(try mesh.nodes[2].store.sentThrough[mesh.zone] == .max, "the other home may have sent anything")
    try mesh.write(1, "b", "of one")
    try mesh.write(2, "c", "of the other")
    try settle(mesh)
    try expectEqual(mesh)
    #expect(mesh.nodes[0].store.rows.count == 3)
    #expect(mesh.nodes.allSatisfy { $0.replica.refusals["fork"] == nil })
  }

  @Test("a device that has used up its instances says so, and loses nothing")
  func aDeviceThatHasUsedUpItsInstancesSaysSoAndLosesNothing() throws {
    let mesh = try TestMesh(2)
    try mesh.meet(1, 0)
    for life in 0..<Limits.instances {
      try mesh.write(1, "\(life)", "written")
      mesh.nodes[1].vault.isFromElsewhere = true
      try mesh.restart(1)
    }
    let zone = try mesh.zone
    #expect(try mesh.nodes[1].replica.zoneViews.view(zone)?.cannotWrite?.contains("VACUUM INTO") == true)
    try mesh.write(1, "late", "pending")
    try mesh.meet(1, 0)
    #expect(mesh.nodes[1].store.pendingCount() == 1)
    #expect(mesh.nodes[0].store.rows.count == Limits.instances)
  }
}
