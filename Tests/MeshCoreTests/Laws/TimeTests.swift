import MeshCore
import Testing

@Suite struct TimeTests {
  @Test("the hybrid clock strictly increases even if the wall clock goes back")
  func aClockStrictlyIncreasesWhateverTheWallClockDoes() {
    var generator = Generator(seed: 31)
    var clock = HybridClock()
    for _ in 0..<20_000 {
      let before = clock.last
      if generator.flag(oneIn: 5) {
        let time = HybridTime(generator.magnitude() >> 2)
        clock.witness(time)
        #expect(clock.last == max(before, time))
      } else {
        let now = Int64(generator.below(1 << 46)) - (1 << 40)
        let noted = generator.flag() ? now - Int64(generator.below(1_000)) : now + Int64(generator.below(1 << 40))
        let time = clock.tick(noted: noted, now: now)
        #expect(time > before && time == clock.last)
        let clamped = HybridTime(milliseconds: min(noted, now))
        #expect(time == (clamped > before ? clamped : HybridTime(before.value + 1)))
      }
    }
  }

  @Test("more ticks than the counter holds run into the next millisecond")
  func ticksAtOneMomentCountOnIntoTheNextMillisecond() {
    var clock = HybridClock()
    for _ in 0..<70_000 { _ = clock.tick(noted: 5, now: 5) }
    #expect(clock.last == HybridTime(5 << 16 + 69_999))
    #expect(clock.last.milliseconds == 6)
  }

  @Test("a hybrid time clamps milliseconds to 48 bits") func timesOutsideOfFortyEightBitsAreClamped() {
    #expect(HybridTime(milliseconds: -1) == .zero)
    #expect(HybridTime(milliseconds: .min) == .zero)
    #expect(HybridTime(milliseconds: .max).milliseconds == 1 << 48 - 1)
    #expect(HybridTime(milliseconds: 7).counter == 0)
  }

  @Test("an import is before every edit, and the first import is the greatest")
  func importTimes() {
    let (first, later) = (HybridTime(milliseconds: 1_795_000_000_000), HybridTime(milliseconds: 1_795_000_000_001))
    #expect(HybridTime(importedAt: first) > HybridTime(importedAt: later))
    #expect(HybridTime(importedAt: .zero) < first && HybridTime(importedAt: first) > .zero)
    for time in [first, first.next, later] {
      let imported = HybridTime(importedAt: time)
      #expect(imported.isImport && imported.noted == time.wholeMilliseconds && imported.noted >= time)
    }
    #expect(HybridTime(importedAt: first.next) == HybridTime(importedAt: later))
    #expect(!first.isImport && first.noted == first && HybridTime.zero.noted == .zero)
    #expect(HybridTime(importedAt: HybridTime(.max)).isImport)
  }

  @Test("the clock stays at the greatest time once it is reached") func theLastTimeOfAllIsKept() {
    var clock = HybridClock(last: HybridTime(.max))
    #expect(clock.tick(noted: 1, now: 1) == HybridTime(.max))
  }

  @Test("stamps have a total order by time, then device, then instance")
  func stampsAreTotallyOrderedByTimeThenDeviceThenInstance() {
    var generator = Generator(seed: 32)
    let devices: [DeviceID] = [generator.identifier(), generator.identifier()]
    var stamps: [Stamp] = []
    for time in [0, 1, UInt64.max] {
      for device in devices {
        for instance in [0, 1, UInt64.max] {
          stamps.append(
            Stamp(time: HybridTime(time), author: Author(device: device, instance: InstanceID(instance))))
        }
      }
    }
    func key(_ stamp: Stamp) -> [UInt8] {
      var writer = ByteWriter()
      writer.uint64(stamp.time.value)
      stamp.author.write(to: &writer)
      return writer.bytes
    }
    for a in stamps {
      for b in stamps {
        #expect((a < b) == key(a).lexicographicallyPrecedes(key(b)))
        #expect([a < b, b < a, a == b].filter { $0 }.count == 1)
      }
    }
  }
}
