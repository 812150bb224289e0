import ArgumentParser
import LFSSyncServer
import Testing

@testable import lfs_server

@Suite("Options of limits")
struct LimitOptionTests {
    @Test("The connection limit follows the descriptor limit, and a higher one is refused")
    func connections() throws {
        #expect(try ConnectionLimit(nil, allowed: 1 << 20) == ConnectionLimit(4_000, allowed: 8_256))
        #expect(try ConnectionLimit(nil, allowed: 1_024).count == 384)
        #expect(try ConnectionLimit(10_000, allowed: 20_256).count == 10_000)
        let error = #expect(throws: ValidationError.self) { try ConnectionLimit(10_000, allowed: 20_255) }
        #expect(error?.message.contains("20256") == true && error?.message.contains("--connections 9999.") == true)
        #expect(throws: ValidationError.self) { try ConnectionLimit(nil, allowed: 200) }
        // The value of a process without a limit.
        #expect(try ConnectionLimit(nil, allowed: .max).count == 4_000)
    }

    @Test("The descriptor limit is raised to what the connections need")
    func descriptors() throws {
        let limit = try ConnectionLimit.allow(400)
        #expect(limit.descriptors == 1_056)
        #expect(try ConnectionLimit.allow(400) == limit)
    }

    @Test("The limits are passed to the sync service and require --database")
    func service() throws {
        let database = ["--database", "sync.sqlite"]
        let arguments = [
            "--requests-per-second", "3", "--stream-lifetime", "2m", "--reject-stale", "recipe", "--reject-stale",
            "step",
        ]
        let options = try ServeCommand.parse(database + arguments).syncLimits.options()
        #expect(options.requestsPerSecond == 3 && options.longestStream == .seconds(120))
        #expect(options.conflicts.keys.sorted() == ["recipe", "step"])
        #expect(try ServeCommand.parse(database).syncLimits.options().requestsPerSecond == 10)
        for wrong in [["--requests-per-second", "0"], ["--stream-lifetime", "5s"], ["--connections", "0"]] {
            #expect(throws: (any Error).self, "\(wrong)") { try ServeCommand.parse(database + wrong) }
        }
        for pair in [["--requests-per-second", "3"], ["--stream-lifetime", "2m"], ["--reject-stale", "recipe"]] {
            #expect(throws: (any Error).self, "\(pair)") {
                try ServeCommand.parse(["--storage", "dir:d", "--tokens", "t"] + pair)
            }
        }
        _ = try ServeCommand.parse(database + ["--connections", "50"])
    }
}
