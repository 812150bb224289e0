import ArgumentParser
import LFSSyncServer
import Testing

@testable import lfs_server

@Suite("The options of limits")
struct LimitOptionTests {
    @Test("connections go by what the process may have, and those that do not fit are refused with what would")
    func connections() throws {
        #expect(try ConnectionLimit(nil, allowed: 1 << 20) == ConnectionLimit(4_000, allowed: 8_256))
        #expect(try ConnectionLimit(nil, allowed: 1_024).count == 384)
        #expect(try ConnectionLimit(10_000, allowed: 20_256).count == 10_000)
        let error = #expect(throws: ValidationError.self) { try ConnectionLimit(10_000, allowed: 20_255) }
        #expect(error?.message.contains("20256") == true && error?.message.contains("--connections 9999.") == true)
        #expect(throws: ValidationError.self) { try ConnectionLimit(nil, allowed: 200) }
        // An unlimited process has so many.
        #expect(try ConnectionLimit(nil, allowed: .max).count == 4_000)
    }

    @Test("the process may have what its connections need")
    func descriptors() throws {
        let limit = try ConnectionLimit.allow(400)
        #expect(limit.descriptors == 1_056)
        #expect(try ConnectionLimit.allow(400) == limit)
    }

    @Test("they come to the service, and belong to --database")
    func service() throws {
        let database = ["--database", "sync.sqlite"]
        let arguments = [
            "--requests-per-second", "3", "--live-seconds", "120", "--reject-stale", "recipe", "--reject-stale", "step",
        ]
        let options = try ServeCommand.parse(database + arguments).syncLimits.options()
        #expect(options.requestsPerSecond == 3 && options.longestStream == .seconds(120))
        #expect(options.conflicts.keys.sorted() == ["recipe", "step"])
        #expect(try ServeCommand.parse(database).syncLimits.options().requestsPerSecond == 10)
        for wrong in [["--requests-per-second", "0"], ["--live-seconds", "5"], ["--connections", "0"]] {
            #expect(throws: (any Error).self, "\(wrong)") { try ServeCommand.parse(database + wrong) }
        }
        for pair in [["--requests-per-second", "3"], ["--live-seconds", "120"], ["--reject-stale", "recipe"]] {
            #expect(throws: (any Error).self, "\(pair)") {
                try ServeCommand.parse(["--storage", "dir:d", "--tokens", "t"] + pair)
            }
        }
        _ = try ServeCommand.parse(database + ["--connections", "50"])
    }
}
