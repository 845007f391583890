import Foundation
import MeshControl
import MeshCore
import MeshReplication

/// Tells whether other devices may still connect, and why none does.
struct Reachability: NodePart {
  let context: NodeContext

  /// Whether another device may still connect: an address is dialled, or the node has just started and knows others.
  var mayConnect: Bool {
    guard !replica.isRevoked else { return false }
    return addresses.wanted.contains { addresses.mayAnswer($0, replica) } || addresses.isExpectingPeers && knowsOthers
  }

  private var knowsOthers: Bool {
    replica.account.liveDevices.contains { $0 != replica.device }
      || replica.zoneIDs.contains { zone in
        guard let state = replica.shareState(zone), state.permission(replica.account.id) != nil else { return false }
        return state.owner != replica.account.id
          || state.participants.values.contains { $0.permission != nil }
      }
  }

  /// The reason that no device is connected, with the attempts so far.
  var noMember: Refusal {
    if let revocation {
      return Refusal(code: "device.revoked", message: "\(revocation.what) \(revocation.wayOut ?? "")")
    }
    let tried = addresses.wanted.map { address -> String in
      guard addresses.mayAnswer(address, replica) else {
        return "\(address): its device has nothing in common with this one any more"
      }
      guard let dial = addresses.dials[address], let since = dial.triedSince else { return "\(address): not tried yet" }
      let outcome = dial.lastError.map { printable($0) } ?? "no answer yet"
      return "\(address), tried since \(ControlJSON.text(Date(milliseconds: since))): \(outcome)"
    }
    return .noMember(tried: tried, knowsOthers: knowsOthers)
  }

  /// The check that fails if the account has revoked this device, or nil if it hasn't.
  var revocation: HealthCheck? {
    guard replica.isRevoked else { return nil }
    if replica.account.isUnconfirmed(replica.device) {
      return HealthCheck(
        "device", .alarm,
        "The account's key was replaced, and nobody has confirmed this device since: it takes no part, and its writes "
          + "stay here.",
        wayOut: "On the machine with the account's key: mesh device confirm \(replica.device)")
    }
    return HealthCheck(
      "device", .alarm, "The account revoked this device: it takes no further part, and its writes stay here.",
      wayOut: "Make a new home, and join again with an invite of the account: mesh init --home DIR --database PATH "
        + "--link -")
  }
}
