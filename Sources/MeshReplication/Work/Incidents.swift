import MeshCore

/// The events since the start that a person may want to know.
final class Incidents {
  /// The maximum number of notices. Further notices say nothing new.
  private static let noticesKept = 20
  /// The maximum number of notices at which forks of other accounts still get one.
  private static let noticesOfOthers = 10

  /// Sentences about this device's instances that a person should know.
  private(set) var notices: [String] = []
  /// The number of refused change sets, by reason.
  private(set) var refusals: [String: Int] = [:]
  /// Devices that gave wrong chunks. They are not asked again.
  private(set) var liars: Set<DeviceID> = []
  /// Notes the rare branches that the replica takes.
  var probe: BranchProbe?
  private let outbox: Outbox

  init(_ outbox: Outbox) { self.outbox = outbox }

  func refuse(_ reason: String) { refusals[reason, default: 0] += 1 }

  func note(liar device: DeviceID) {
    if liars.count < Limits.devicesEver { liars.insert(device) }
  }

  func notify(_ text: String) {
    guard !notices.contains(text), notices.count < Self.noticesKept else { return }
    notices.append(text)
    outbox.log(.warning, text)
  }

  /// Notifies the user of a fork. Other accounts can fork at will. Their notices leave room for those about this
  /// account.
  func notify(_ proof: ForkProof, isOwn: Bool) {
    guard isOwn || notices.count < Self.noticesOfOthers else { return }
    notify(
      "\(proof.author) signed two change sets with number \(proof.first.header.number): its database or its home was copied "
        + "or restored. Both branches end there, on every device; it writes its own again")
  }
}
