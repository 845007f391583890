import MeshTesting
import Testing

@Suite struct PlanTests {
  private func fault(_ json: String) -> String {
    do {
      _ = try PlannedRun(json: Array(json.utf8))
      return ""
    } catch {
      return "\(error)"
    }
  }

  @Test func `what a plan does not say is calm`() throws {
    #expect(try PlannedRun(json: Array("{}".utf8)).plan == .calm)
    var plan = FaultPlan.calm
    plan.powerCuts = 20
    #expect(try PlannedRun(json: Array(#"{"nodes": {"powerCuts": 20}}"#.utf8)).plan == plan)
  }

  @Test(arguments: FaultPlan.named.keys.sorted())
  func `a plan is read as it was written`(name: String) throws {
    let plan = try #require(FaultPlan.named[name])
    let run = PlannedRun(plan: plan, seed: 7, nodes: 4, steps: 90, storage: .model)
    #expect(try PlannedRun(json: Array(run.json.utf8)) == run)
    #expect(try PlannedRun(json: Array("{\"base\": \"\(name)\"}".utf8)).plan == plan)
  }

  @Test(arguments: [
    (#"{"disc": {"full": 3}}"#, "“disc”"), (#"{"disk": {"ful": 3}}"#, "“disk.ful”"), (#"{"disk": 3}"#, "“disk”"),
    (#"{"disk": {"full": -1}}"#, "“disk.full”"), (#"{"disk": {"full": "often"}}"#, "“disk.full”"),
    (#"{"network": {"latency": [9, 1]}}"#, "“network.latency”"), (#"{"network": {"topology": "star"}}"#, "topology"),
    (#"{"nodes": {"meetGradually": 1}}"#, "“nodes.meetGradually”"), (#"{"base": "nice"}"#, "“base”"),
    (#"{"run": {"nodes": 0}}"#, "“run.nodes”"), (#"{"run": {"node": 1}}"#, "“run.node”"), ("[]", "object"),
    ("{", "JSON"),
  ])
  func `what is wrong in a plan is named`(json: String, name: String) {
    let text = fault(json)
    #expect(text.contains(name), "\(text)")
    #expect(text.contains(": "), "and the way out follows")
  }

  @Test func `every key has its own path and says what it is for`() {
    #expect(Set(FaultPlan.keys.map(\.path)).count == FaultPlan.keys.count)
    #expect(FaultPlan.keys.allSatisfy { !$0.summary.isEmpty && !$0.form.isEmpty })
  }
}
