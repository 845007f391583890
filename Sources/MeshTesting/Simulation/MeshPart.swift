import MeshCore

/// A part of a simulation. It acts on the mesh that all parts have in common, and keeps the state that only it needs.
protocol MeshPart {
  var mesh: SimulatedMesh { get }
}

extension MeshPart {
  var plan: FaultPlan { mesh.plan }
  var time: VirtualTime { mesh.time }
  var cryptography: any Cryptography { mesh.cryptography }
  var nodes: [SimulatedNode] { mesh.nodes }
  var honest: [SimulatedNode] { mesh.nodes.honest }
  var zones: KnownZones { mesh.zones }

  func say(_ node: Int?, _ text: String) { mesh.say(node, text) }
  func violate(_ text: String) { mesh.violate(text) }
  func occurred(_ fault: String) { mesh.occurred(fault) }
}
