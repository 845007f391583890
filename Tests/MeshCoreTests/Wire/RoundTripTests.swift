import MeshCore
import MeshTesting
import Testing

@Suite struct RoundTripTests {
  @Test("random values of each form decode to what was encoded", arguments: WireForm.all)
  func randomValuesAreReadAsTheyWereWritten(form: WireForm) throws {
    var generator = Generator(seed: 1)
    for turn in TestSeeds.through(1_000) {
      #expect(try form.roundTrips(&generator), "\(form), value \(turn)")
    }
  }

  @Test("the generator makes every kind of message, and each one round-trips")
  func everyKindOfMessageIsAmongTheRandomOnes() throws {
    var generator = Generator(seed: 2)
    for kind in 0..<Generator.messageKinds {
      let message = generator.message(kind: kind)
      #expect(message.encoded.first == UInt8(kind + 1))
      #expect(try Message.decode(message.encoded) == message)
    }
  }

  @Test("the generator makes every kind of control act, and each one round-trips")
  func everyKindOfControlActIsAmongTheRandomOnes() throws {
    var generator = Generator(seed: 4)
    for kind in 0..<Generator.actKinds {
      for _ in 0..<50 {
        let record = try generator.record(generator.act(kind: kind))
        let again = try ControlRecord(record.encoded, StubCryptography())
        #expect(again == record && again.encoded == record.encoded)
        if kind < Generator.actKinds - 1 {
          if case .unknown = again.act { Issue.record("kind \(kind) is not known") }
        } else {
          guard case .unknown = again.act else {
            Issue.record("\(again.act) is known")
            continue
          }
        }
      }
    }
  }

  @Test("a field's stamp that equals its row's stamp is not encoded")
  func aFieldStampThatEqualsTheRowsIsWrittenAsTheRows() throws {
    var generator = Generator(seed: 3)
    let author = generator.author()
    let stamp = Stamp(time: HybridTime(9), author: author)
    func body(_ own: Stamp?) -> ChangeSetBody {
      let field = RowChange.Field(column: 0, stamp: own, value: .value(.null))
      let row = RowChange(key: .integer(1), generation: 1, isLife: true, stamp: stamp, fields: [field])
      return ChangeSetBody(
        context: CausalContext(), content: .changes([TableChanges(table: "t", columns: ["c"], rows: [row])]))
    }
    #expect(body(stamp).encoded(author: author) == body(nil).encoded(author: author))
  }
}
