import Testing

@testable import MeshTesting

@Suite struct PlanTests {
  private func fault(_ json: String) -> String {
    do {
      _ = try PlannedRun(json: Array(json.utf8))
      return ""
    } catch {
      return "\(error)"
    }
  }

  @Test("what a plan does not say is calm") func whatAPlanDoesNotSayIsCalm() throws {
    #expect(try PlannedRun(json: Array("{}".utf8)).plan == .calm)
    var plan = FaultPlan.calm
    plan.powerCuts = 20
    #expect(try PlannedRun(json: Array(#"{"nodes": {"powerCuts": 20}}"#.utf8)).plan == plan)
  }

  @Test("a plan is read as it was written", arguments: FaultPlan.named.keys.sorted())
  func aPlanIsReadAsItWasWritten(name: String) throws {
    let plan = try #require(FaultPlan.named[name])
    let run = PlannedRun(plan: plan, seed: 7, nodes: 4, steps: 90, storage: .sqlite)
    #expect(try PlannedRun(json: Array(run.json.utf8)) == run)
    #expect(try PlannedRun(json: Array("{\"base\": \"\(name)\"}".utf8)).plan == plan)
  }

  @Test(
    "what is wrong in a plan is named",
    arguments: [
      (#"{"disc": {"full": 3}}"#, "“disc”"), (#"{"disk": {"ful": 3}}"#, "“disk.ful”"), (#"{"disk": 3}"#, "“disk”"),
      (#"{"disk": {"full": -1}}"#, "“disk.full”"), (#"{"disk": {"full": "often"}}"#, "“disk.full”"),
      (#"{"network": {"latency": [9, 1]}}"#, "“network.latency”"), (#"{"network": {"topology": "star"}}"#, "topology"),
      (#"{"nodes": {"meetGradually": 1}}"#, "“nodes.meetGradually”"), (#"{"base": "nice"}"#, "“base”"),
      (#"{"run": {"nodes": 0}}"#, "“run.nodes”"), (#"{"run": {"node": 1}}"#, "“run.node”"), ("[]", "object"),
      ("{", "JSON"),
    ])
  func whatIsWrongInAPlanIsNamed(json: String, name: String) {
    let text = fault(json)
    #expect(text.contains(name), "\(text)")
    #expect(text.contains(": "), "and the way out follows")
  }

  @Test("a mixture has each fault as often as the plan in which it is most frequent")
  func mixtures() throws {
    let mixture = try #require(FaultPlan.plan(named: "shares+assets+line"))
    #expect(mixture.accounts == FaultPlan.shares.accounts)
    #expect(mixture.photos == FaultPlan.assets.photos)
    #expect(mixture.topology == .line)
    #expect(mixture.kills == min(FaultPlan.shares.kills, FaultPlan.assets.kills))
    #expect(try PlannedRun(json: Array(#"{"base": "shares+assets+line"}"#.utf8)).plan == mixture)
    #expect(FaultPlan.plan(named: "shares+asets") == nil)
    #expect(FaultPlan.plan(named: "shares+") == nil)
    #expect(FaultPlan.plan(named: "shares") == .shares)
  }

  @Test("nothing is left that has no effect", arguments: FaultPlan.named.keys.sorted())
  func idleKeys(name: String) throws {
    for storage in [Simulation.Storage.sqlite, .model] {
      let plan = try #require(FaultPlan.named[name]).withoutIdleKeys(storage)
      #expect(FaultPlan.Key.all.allSatisfy { plan.idleness($0, storage) == nil })
    }
  }

  @Test("random mixtures have two to four plans, and each plan but some is in some of them")
  func randomMixtures() throws {
    let names = (1...200).map { FaultPlan.mixture(from: $0).split(separator: "+") }
    #expect(names.allSatisfy { (2...4).contains(Set($0).count) && Set($0).count == $0.count })
    #expect(Set(names.joined().map(String.init)) == Set(FaultPlan.named.keys).subtracting(["calm", "wide"]))
    #expect(Set(names.map { $0.joined() }).count > 150)
    for seed in UInt64(1)...40 {
      let run = PlannedRun(plan: try #require(FaultPlan.plan(named: FaultPlan.mixture(from: seed))), storage: .sqlite)
      #expect(try PlannedRun(json: Array(run.json.utf8)) == run)
    }
  }

  @Test(
    "a key without effect is an error that names the key it needs",
    arguments: [
      (#"{"nodes": {"deathWithin": [1, 5]}}"#, "nodes.deathWithin", "nodes.deaths"),
      (#"{"writers": {"whileDown": 3}}"#, "writers.whileDown", "nodes.kills"),
      (#"{"shares": {"creates": 3}}"#, "shares.creates", "accounts.count"),
      (#"{"accounts": {"count": 3}, "shares": {"invites": 3}}"#, "shares.invites", "shares.creates"),
      (#"{"liars": {"forks": 3}}"#, "liars.forks", "liars.count"),
      (#"{"assets": {"evictions": 3}}"#, "assets.evictions", "writers.longValues or assets.photos"),
      (#"{"network": {"degree": 5}}"#, "network.degree", "network.topology"),
      (#"{"disk": {"full": 3}, "run": {"storage": "model"}}"#, "disk.full", "run.storage"),
    ])
  func idleKeys(json: String, key: String, need: String) {
    let text = fault(json)
    #expect(text.contains("“\(key)” has no effect"), "\(text)")
    #expect(text.contains(need), "\(text)")
  }

  @Test("a key that is off or has what it needs is accepted")
  func usedKeys() {
    #expect(fault(#"{"shares": {"invites": 0}}"#).isEmpty)
    #expect(fault(#"{"nodes": {"deathWithin": [1, 5], "deaths": 3}}"#).isEmpty)
    #expect(fault(#"{"base": "shares", "assets": {"photos": 3, "evictions": 3}}"#).isEmpty)
    #expect(fault(#"{"base": "bad-disks", "run": {"storage": "model"}}"#).isEmpty)
  }

  @Test("every key of a named plan has an effect", arguments: FaultPlan.named.keys.sorted())
  func namedKeys(name: String) throws {
    let plan = try #require(FaultPlan.named[name])
    let run = PlannedRun(plan: plan, storage: .sqlite)
    #expect(try PlannedRun(json: Array(run.json.utf8)).plan == plan)
  }

  @Test("soaks draw plans that can be read again", arguments: [1, 2, 3, 5, 8, 13, 21, 34])
  func soakPlans(number: UInt64) throws {
    let run = Soak().run(number)
    #expect(try PlannedRun(json: Array(run.json.utf8)) == run)
  }

  @Test("every key has its own path and says what it is for") func everyKeyHasItsOwnPathAndSaysWhatItIsFor() {
    #expect(Set(FaultPlan.Key.all.map(\.path)).count == FaultPlan.Key.all.count)
    #expect(FaultPlan.Key.all.allSatisfy { !$0.summary.isEmpty && !$0.form.isEmpty })
  }
}
