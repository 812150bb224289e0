import BenchKit
import Foundation
import Testing

@Suite("Statistics")
struct StatisticsTests {
    @Test("The median is the middle value, regardless of the order")
    func odd() {
        #expect([3.0, 1.0, 100.0].median == 3)
        #expect([7.0].median == 7)
    }

    @Test("The median of an even number is the mean of the two middle values")
    func even() { #expect([4.0, 1.0, 100.0, 2.0].median == 3) }

    @Test("An empty list has no median")
    func none() { #expect([Double]().median == nil) }

    @Test("A percentile is a measured value, the one of the nearest rank")
    func percentiles() {
        #expect([15, 20, 35, 40, 50].percentile(30) == 20)
        #expect([50, 15, 40, 20, 35].percentile(40) == 20)
        #expect([15, 20, 35, 40, 50].percentile(50) == 35)
        #expect([15, 20, 35, 40, 50].percentile(100) == 50)
        #expect([3, 6, 7, 8, 8, 10, 13, 15, 16, 20].percentile(25) == 7)
        #expect([7].percentile(1) == 7)
        #expect([Int]().percentile(99) == nil)
    }

    @Test("One in a hundred values is above the 99th percentile", arguments: [100, 1_000, 10_000])
    func tail(count: Int) { #expect((1...count).percentile(99) == count - count / 100) }

    @Test("The growth exponent is the exponent of the power", arguments: [0, 0.5, 1, 1.05, 2])
    func exponent(power: Double) throws {
        let points = [10_000.0, 100_000, 1_000_000].map { (size: $0, cost: 3e-5 * pow($0, power)) }
        let exponent = try #require(GrowthExponent.of(points))
        #expect(abs(exponent - power) < 1e-9)
    }

    @Test("The growth exponent is that of the least squares line")
    func leastSquares() throws {
        // As powers of ten, (0, 0), (1, 2) and (2, 1) have the slope 1 / 2.
        let exponent = try #require(GrowthExponent.of([(1, 1), (10, 100), (100, 10)]))
        #expect(abs(exponent - 0.5) < 1e-9)
    }

    @Test("A single size or a cost of zero has no growth exponent")
    func noExponent() {
        #expect(GrowthExponent.of([]) == nil)
        #expect(GrowthExponent.of([(10, 1), (10, 2)]) == nil)
        #expect(GrowthExponent.of([(10, 0), (100, 2)]) == nil)
    }

    @Test("Table columns are aligned, the first to the left and the others to the right")
    func columns() {
        #expect(
            TextTable.lines([["", "ms"], ["a row", "1"], ["b", "10.5"]]) == [
                "         ms", "a row     1", "b      10.5",
            ])
        #expect(TextTable.lines([]).isEmpty)
    }

    @Test("Each tool starts equally many rounds")
    func rotation() {
        let rounds = (0..<4).map { Schedule.order(of: ["a", "b", "c"], round: $0) }
        #expect(rounds == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]])
        #expect(Schedule.order(of: [String](), round: 1).isEmpty)
    }

    @Test("Numbers are printed in a short form")
    func formats() {
        #expect(Format.decimal(1.005, places: 1) == "1.0")
        #expect(Format.decimal(12.046, places: 2) == "12.05")
        #expect(Format.decimal(0.95, places: 0) == "1")
        #expect(Format.bytes(10_240) == "10 KiB")
        #expect(Format.bytes(1_572_864) == "1.5 MiB")
        #expect(Format.count(1, noun: "file") == "1 file")
        #expect(Format.count(2_000, noun: "file") == "2,000 files")
    }

    @Test("Sizes are read in powers of 1024", arguments: [("10KiB", 10_240), ("2MiB", 2 << 20), ("77", 77)])
    func sizes(text: String, bytes: Int64) { #expect(ByteSize(argument: text)?.bytes == bytes) }

    @Test("An invalid size is refused", arguments: ["", "KiB", "-1", "0", "10kb", "1.5GiB", "99999999999GiB"])
    func noSizes(text: String) { #expect(ByteSize(argument: text) == nil) }
}
