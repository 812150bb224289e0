import CommandLineOptions
import Testing

@Suite("Durations and sizes on the command line")
struct TimeSpanTests {
    @Test(
        "A duration is one or more numbers with units, the largest unit first",
        arguments: [
            ("90s", 90.0), ("1h30m", 5_400), ("1.5h", 5_400), ("2w", 1_209_600), ("1y", 31_536_000), ("1d12h", 129_600),
            ("500ms", 0.5), ("0", 0), ("100y", 3_153_600_000), ("never", .infinity),
        ])
    func valid(text: String, seconds: Double) throws {
        let time = try TimeSpan.parse(text)
        #expect(time.seconds == seconds && time.description == text)
    }

    @Test(
        "A duration with a wrong order, unit or number is refused",
        arguments: ["", "m", "-1s", "30m1h", "1m1m", "1h 30m", "1e5s", "1.2.3s", "nan", "inf", "101y", "1x", "1e99y"])
    func invalid(text: String) {
        #expect(TimeSpan(argument: text) == nil)
        #expect(throws: (any Error).self) { try TimeSpan.parse(text) }
    }

    @Test("The message about a number without a unit suggests texts with units")
    func bare() {
        #expect { try TimeSpan.parse("90") } throws: { "\($0)".contains("Write 90s, 90m, 90h or 90d.") }
    }

    @Test("A duration that needs an end cannot be never")
    func finite() throws {
        #expect(throws: (any Error).self) { try TimeSpan.parseFinite("never") }
        #expect(try TimeSpan.parseFinite("5s").duration == .seconds(5))
    }

    @Test(
        "A size is a number of bytes, or a number with a unit",
        arguments: [
            ("1048576", Int64(1_048_576)), ("512KiB", 524_288), ("1.5GiB", 1_610_612_736), ("1TB", 1_000_000_000_000),
            ("8M", 8_388_608), ("0", 0),
        ])
    func sizes(text: String, bytes: Int64) {
        #expect(ByteSize(argument: text)?.bytes == bytes)
    }
}
