import BenchKit
import Foundation
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

    @Test("A percentile is the value of the nearest rank, and so always one that was measured")
    func percentiles() {
        #expect([15, 20, 35, 40, 50].percentile(30) == 20)
        #expect([50, 15, 40, 20, 35].percentile(40) == 20)
        #expect([15, 20, 35, 40, 50].percentile(50) == 35)
        #expect([15, 20, 35, 40, 50].percentile(100) == 50)
        #expect([3, 6, 7, 8, 8, 10, 13, 15, 16, 20].percentile(25) == 7)
        #expect([7].percentile(1) == 7)
        #expect([Int]().percentile(99) == nil)
    }

    @Test("The 99th percentile of so many values leaves one in a hundred above it", arguments: [100, 1_000, 10_000])
    func tail(count: Int) { #expect((1...count).percentile(99) == count - count / 100) }

    @Test("The exponent of growth is that of the power", arguments: [0, 0.5, 1, 1.05, 2])
    func exponent(power: Double) throws {
        let points = [10_000.0, 100_000, 1_000_000].map { (size: $0, cost: 3e-5 * pow($0, power)) }
        let exponent = try #require(GrowthExponent.of(points))
        #expect(abs(exponent - power) < 1e-9)
    }

    @Test("Of points beside a line the exponent is that of the line with the least squares")
    func leastSquares() throws {
        // In powers of ten: (0, 0), (1, 2), (2, 1) have the slope 1 / 2.
        let exponent = try #require(GrowthExponent.of([(1, 1), (10, 100), (100, 10)]))
        #expect(abs(exponent - 0.5) < 1e-9)
    }

    @Test("Without two sizes, or with a cost of nothing, there is no exponent")
    func noExponent() {
        #expect(GrowthExponent.of([]) == nil)
        #expect(GrowthExponent.of([(10, 1), (10, 2)]) == nil)
        #expect(GrowthExponent.of([(10, 0), (100, 2)]) == nil)
    }

    @Test("Columns stand under each other, the first to the left and the others to the right")
    func columns() {
        #expect(
            TextTable.lines([["", "ms"], ["a row", "1"], ["b", "10.5"]]) == [
                "         ms", "a row     1", "b      10.5",
            ])
        #expect(TextTable.lines([]).isEmpty)
    }

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
