import ArgumentParser
import CommandLineOptions
import Testing

@testable import lfs_server

@Suite("Options of lfs-server from variables")
struct ServerConfigTests {
    /// Returns the command line that the parser gets. The folder of the configuration file does not exist.
    private static func completed(_ arguments: String..., environment: [String: String]) throws -> [String] {
        let all = environment.merging(["XDG_CONFIG_HOME": "/nonexistent"]) { value, _ in value }
        return try OptionSources(program: "lfs-server", environment: all)
            .completing(arguments, of: LFSServerCommand.self).arguments
    }

    @Test("A variable gives a value to an option that the command line of serve lacks")
    func variable() throws {
        let environment = ["LFS_SERVER_LISTEN": "127.0.0.1:8586", "LFS_SERVER_TOKENS": "other"]
        let words = try Self.completed("serve", "--tokens", "tokens", environment: environment)
        #expect(words == ["serve", "--listen=127.0.0.1:8586", "--tokens", "tokens"])
        let serve = try #require(
            try LFSServerCommand.parseAsRoot(words + ["--storage", "dir:objects"]) as? ServeCommand)
        #expect(serve.listen == "127.0.0.1:8586" && serve.tokens == "tokens")
    }

    @Test("A variable reaches each command with its option, and no other")
    func subcommand() throws {
        let environment = ["LFS_SERVER_TOKENS": "tokens"]
        #expect(try Self.completed("token", "list", environment: environment) == ["token", "list", "--tokens=tokens"])
        #expect(try Self.completed("session", "list", environment: environment) == ["session", "list"])
    }
}
