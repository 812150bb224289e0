import Foundation
import TestSupport
import Testing

@testable import LFSSystem

@Suite("File identifiers", .timeLimit(.minutes(10)))
struct FileIDTests {
    @Test("A new id is a lowercase UUID of version 7 that begins with the time")
    func format() throws {
        let id = FileID.make(at: Date(timeIntervalSince1970: 1_645_557_742))
        #expect(id.text.hasPrefix("017f22e2-79b0-7"), "the time of the example in RFC 9562, appendix A.6")
        let variant = id.text.split(separator: "-")[3].first
        #expect(["8", "9", "a", "b"].contains(variant))
        #expect(UUID(uuidString: id.text) != nil)
        #expect(FileID(text: id.text) == id)
    }

    @Test("Ids are unique and sort by their time")
    func order() {
        let early = (0..<1_000).map { _ in FileID.make(at: Date(timeIntervalSince1970: 1_000)).text }
        let late = (0..<1_000).map { _ in FileID.make(at: Date(timeIntervalSince1970: 1_000.001)).text }
        #expect(Set(early + late).count == 2_000)
        #expect((early.max() ?? "") < (late.min() ?? ""))
    }

    @Test("An id sorts after all ids that were made before it at the same time")
    func ascending() {
        // The test uses its own sequence, because concurrent tests make ids of other times.
        let sequence = FileIDSequence()
        let ids = (0..<20_000).map { _ in sequence.make(at: Date(timeIntervalSince1970: 2_000)) }
        #expect(ids == ids.sorted() && Set(ids).count == ids.count)
        #expect(ids.allSatisfy { (2_000_000..<2_000_010).contains($0.milliseconds) && $0.tellsTime })
    }

    @Test("An id has its own time when the clock was set back")
    func setBack() {
        let later = FileID.make(at: Date(timeIntervalSince1970: 4_000))
        let earlier = FileID.make(at: Date(timeIntervalSince1970: 3_000))
        #expect(earlier.milliseconds == 3_000_000 && earlier < later)
    }

    @Test("An id survives conversion to a number, to JSON and to text")
    func forms() throws {
        let id = FileID.make()
        #expect(FileID(id.bits) == id)
        #expect(try JSONDecoder().decode([FileID].self, from: JSONEncoder().encode([id])) == [id])
        #expect("\(id)" == id.text)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([FileID].self, from: Data(#"["a"]"#.utf8)) }
    }

    @Test("Only lowercase UUIDs are ids, and they sort like their texts")
    func texts() throws {
        let texts = (0..<2_000).map { _ in UUID().uuidString.lowercased() }
        let ids = try texts.map { try #require(FileID(text: $0)) }
        #expect(ids.map(\.text) == texts && ids.sorted().map(\.text) == texts.sorted())
        #expect(texts.map { FileID(name: Array($0.utf8)) } == ids)
        // Replaces each byte of one id by each possible byte.
        let digits = Set("0123456789abcdef".utf8)
        for place in 0..<36 {
            for byte in UInt8.min...UInt8.max {
                var bytes = Array(texts[0].utf8)
                let isDash = bytes[place] == UInt8(ascii: "-")
                bytes[place] = byte
                let isID = isDash ? byte == UInt8(ascii: "-") : digits.contains(byte)
                #expect((FileID(name: bytes)?.text).map { Array($0.utf8) } == (isID ? bytes : nil))
            }
        }
        let bytes = Array(texts[0].utf8)
        #expect(FileID(name: bytes + [0x30]) == nil && FileID(name: bytes.dropLast()) == nil && FileID(name: []) == nil)
    }

    @Test("An id can be made after another one of any time, and two such ids differ")
    func after() throws {
        let early = Date(timeIntervalSince1970: 1_000)
        let late = FileID.make()
        let next = FileID.make(at: early, after: late)
        #expect(next > late && next.milliseconds == late.milliseconds && next.bits.isVersion7)
        #expect(FileID.make(at: early, after: late) != next)
        let last = try #require(FileID(text: "017f22e2-79b0-7fff-bfff-ffffffffffff"))
        #expect(FileID.make(at: early, after: last) > last)
        #expect(FileID.make(at: early, after: last).bits.isVersion7)
        #expect(FileID.make(at: Date(), after: FileID.makeEarliest()).milliseconds >= late.milliseconds)
        #expect(FileID.makeEarliest() < FileID.make(at: early))
    }

    @Test("Ids made after an id of an odd time keep ascending")
    func afterOddTime() {
        let (sequence, now) = (FileIDSequence(), Date(timeIntervalSince1970: 2_000))
        var last = sequence.make(at: now)
        for _ in 0..<100 {
            let other = sequence.make(at: Date(timeIntervalSince1970: 0), after: last)
            #expect(other > last)
            let next = sequence.make(at: now)
            #expect(next > last)
            last = next
        }
    }

    @Test("An id can be made for a time before 1970")
    func oddTimes() {
        #expect(FileID(text: FileID.make(at: Date(timeIntervalSince1970: -5)).text) != nil)
    }

    @Test(
        "A text that is not a lowercase UUID is refused",
        arguments: [
            "", "..", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "017f22e279b07cc398c4dc0c0c07398f",
            "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
            "017f22e2/79b0-7cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f\n",
        ])
    func refused(_ text: String) { #expect(FileID(text: text) == nil) }
}
