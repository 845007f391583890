// The code of the documentation of MeshControl.

import MeshControl

func describe(home: String) async throws -> String {
  let node = ControlClient(home: home)
  do {
    let status = try await node.perform(StatusRequest())
    let connected = status.peers.filter(\.connected).count
    let sent = try await node.perform(WaitRequest(timeout: .seconds(10)))
    return sent.complete
      ? "\(connected) devices have everything."
      : "\(status.pending) rows to send, \(connected) devices connected."
  } catch let refusal as Refusal {
    return refusal.message
  } catch let error as ControlClientError where error.code == .noDaemon {
    return "No node runs here. Start it with mesh serve."
  }
}
