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
    await turns.rest(flooder, for: .seconds(3_600))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<2 {
        group.addTask {
          let turn = await turns.take(flooder)
          if !Task.isCancelled { await served.add("flood") }
          await turns.end(turn, after: .zero)
        }
      }
      group.addTask {
        let turn = await turns.take(honest)
        await served.add("honest")
        await turns.end(turn, after: .zero)
      }
      while await served.names.isEmpty { await Task.yield() }
      group.cancelAll()
    }
    #expect(await served.names == ["honest"])
  }

  @Test("the rests of an account add up") func restsAddUp() async throws {
    let flooder = try #require(flooder)
    let turns = Turns()
    let begun = ContinuousClock.now
    for _ in 0..<2 { await turns.rest(flooder, for: .milliseconds(200)) }
    await turns.end(turns.take(flooder), after: .zero)
    #expect(ContinuousClock.now - begun >= .milliseconds(400))
  }
}
