import BenchKit
import Testing

@Suite("Statistics")
struct StatisticsTests {
    @Test("The median is the value in the middle, whatever the order")
    func odd() {
        #expect([3.0, 1.0, 100.0].median == 3)
        #expect([7.0].median == 7)
    }

    @Test("Of an even number it is the mean of the two in the middle")
    func even() { #expect([4.0, 1.0, 100.0, 2.0].median == 3) }

    @Test("Of nothing there is none")
    func none() { #expect([Double]().median == nil) }

    @Test("Each tool begins a round as often as the others")
    func rotation() {
        let rounds = (0..<4).map { Schedule.order(of: ["a", "b", "c"], round: $0) }
        #expect(rounds == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]])
        #expect(Schedule.order(of: [String](), round: 1).isEmpty)
    }

    @Test("Numbers are short")
    func formats() {
        #expect(Format.decimal(1.005, 1) == "1.0")
        #expect(Format.decimal(12.046, 2) == "12.05")
        #expect(Format.decimal(0.95, 0) == "1")
        #expect(Format.bytes(10_240) == "10 KiB")
        #expect(Format.bytes(1_572_864) == "1.5 MiB")
        #expect(Format.count(1, "file") == "1 file")
        #expect(Format.count(2_000, "file") == "2,000 files")
    }

    @Test("Sizes are read in powers of 1024", arguments: [("10KiB", 10_240), ("2MiB", 2 << 20), ("77", 77)])
    func sizes(text: String, bytes: Int64) { #expect(ByteSize(argument: text)?.bytes == bytes) }

    @Test("What is no size is refused", arguments: ["", "KiB", "-1", "0", "10kb", "1.5GiB", "99999999999GiB"])
    func noSizes(text: String) { #expect(ByteSize(argument: text) == nil) }
}
