import MeshCore
import Testing

@testable import MeshNode

/// The order in which waiting peers are served.
@Suite struct TurnsTests {
  private let flooder = AccountID([UInt8](repeating: 1, count: 32))
  private let honest = AccountID([UInt8](repeating: 2, count: 32))

  /// The names of the served peers, in order.
  private actor Served {
    private(set) var names: [String] = []
    func add(_ name: String) { names.append(name) }
  }

  @Test("an account that has cost much waits behind one that has cost little") func theCheapestIsNext() async throws {
    let turns = Turns()
    let served = Served()
    let first = await turns.take(flooder)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          let turn = await turns.take(flooder)
          await served.add("flood")
          await turns.end(turn, after: .seconds(1))
        }
      }
      while await turns.waiting < 20 { await Task.yield() }
      group.addTask {
        let turn = await turns.take(honest)
        await served.add("honest")
        await turns.end(turn, after: .milliseconds(1))
      }
      while await turns.waiting < 21 { await Task.yield() }
      await turns.end(first, after: .seconds(1))
    }
    #expect(await served.names.count == 21)
    #expect(await served.names.first == "honest")
    #expect(await turns.waiting == 0)
  }

  @Test("an account that was silent for long gets no more than its turn") func silenceIsNotSavedUp() async throws {
    let turns = Turns()
    for _ in 0..<10 {
      let turn = await turns.take(honest)
      await turns.end(turn, after: .seconds(1))
    }
    let held = await turns.take(honest)
    let served = Served()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<5 {
        group.addTask {
          let turn = await turns.take(flooder)
          await served.add("new")
          await turns.end(turn, after: .seconds(2))
        }
      }
      while await turns.waiting < 5 { await Task.yield() }
      group.addTask {
        let turn = await turns.take(honest)
        await served.add("honest")
        await turns.end(turn, after: .milliseconds(1))
      }
      while await turns.waiting < 6 { await Task.yield() }
      await turns.end(held, after: .milliseconds(1))
    }
    let place = await served.names.firstIndex(of: "honest")
    #expect(place ?? 9 <= 2)
  }

  @Test("an account that rests has no turn in any session, and others have theirs") func restingAccountsWait()
    async throws
  {
    let flooder = try #require(flooder)
    let turns = Turns()
    let served = Served()
    let begun = ContinuousClock.now
    await turns.rest(flooder, for: .milliseconds(500))
    await turns.rest(flooder, for: .milliseconds(500))
    await withTaskGroup(of: Void.self) { group in
      for (account, name) in [(flooder, "flood"), (flooder, "flood"), (honest, "honest")] {
        group.addTask {
          let turn = await turns.take(account)
          await served.add(name)
          await turns.end(turn, after: .zero)
        }
      }
    }
    #expect(await served.names == ["honest", "flood", "flood"])
    #expect(ContinuousClock.now - begun >= .seconds(1), "rests are added up")
  }
}
