import ArgumentParser
import CommandLineOptions
import Foundation
import Testing
import UploaderKit

@Suite("Options from variables and a configuration file")
struct ConfigurationTests {
    /// Returns the command line that the parser gets.
    private static func completed(
        _ arguments: String..., environment: [String: String] = [:], file: String? = nil
    ) throws -> [String] {
        var environment = environment
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        environment["XDG_CONFIG_HOME"] = folder.path
        if let file {
            let path = folder.appendingPathComponent("own.yaml")
            try Data(file.utf8).write(to: path)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path.path)
            environment["UPLOADER_CONFIG"] = path.path
        }
        return try OptionSources(program: "uploader", environment: environment)
            .completing(arguments, of: Uploader.self).arguments
    }

    @Test("A variable gives a value to an option that the command line does not have")
    func variable() throws {
        let words = try Self.completed("push", "folder", environment: ["UPLOADER_GIVE_UP_AFTER": "90s"])
        #expect(words == ["push", "--give-up-after=90s", "folder"])
    }

    @Test("The command line takes precedence over a variable, and a variable over the file")
    func precedence() throws {
        let words = try Self.completed(
            "push", "--to", "dir:c", "folder", environment: ["UPLOADER_TO": "dir:b", "UPLOADER_DATABASE": "b.sqlite"],
            file: "database: a.sqlite\nto: dir:a\nkeep-versions: 30d")
        #expect(words == ["push", "--database=b.sqlite", "--keep-versions=30d", "--to", "dir:c", "folder"])
    }

    @Test("A flag on the command line takes precedence over its opposite in a variable")
    func negation() throws {
        let words = try Self.completed("push", "--no-save-database", environment: ["UPLOADER_SAVE_DATABASE": "true"])
        #expect(words == ["push", "--no-save-database"])
        let negated = try Self.completed("push", environment: ["UPLOADER_SAVE_DATABASE": "false"])
        #expect(negated == ["push", "--no-save-database"])
    }

    @Test("A list in the file repeats its option")
    func list() throws {
        let words = try Self.completed("push", "--", "folder", file: #"exclude: ["*.tmp", "cache/"]"#)
        #expect(words == ["push", "--exclude=*.tmp", "--exclude=cache/", "--", "folder"])
    }

    @Test("A value does not reach a command without the option")
    func otherCommand() throws {
        let words = try Self.completed("settings", "list", environment: ["UPLOADER_TO": "dir:b"])
        #expect(words == ["settings", "list"])
    }

    @Test("A command line that asks for help stays as it is")
    func help() throws {
        #expect(try Self.completed("push", "--help", file: "unknown: 1") == ["push", "--help"])
    }

    @Test(
        "A file with an unknown option, a list for one value or a wrong flag is refused",
        arguments: ["databse: a", "database: [a, b]", "verbose: 2", "database:", "- a", "a: [", "database: {a: 1}"])
    func wrongFile(contents: String) throws {
        #expect(throws: ValidationError.self) { try Self.completed("push", "folder", file: contents) }
    }

    @Test("A file that other users can change is refused")
    func unsafeFile() throws {
        try withFolder { folder in
            let path = folder.appendingPathComponent("own.yaml").path
            try Data("database: a.sqlite".utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
            let run = try UploaderProcess(["status"], in: folder, environment: ["UPLOADER_CONFIG": path]).wait()
            #expect(run.status == 64 && run.messages.contains("chmod go-w"))
        }
    }

    @Test("A file that cannot be read is refused and not ignored")
    func unreadableFile() throws {
        try withFolder { folder in
            let settings = folder.appendingPathComponent(".config/lfs")
            try FileManager.default.createDirectory(at: settings, withIntermediateDirectories: true)
            let link = settings.appendingPathComponent("uploader.yaml")
            // Its disk is not mounted yet.
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: "\(folder.path)/mnt/own")
            let push = ["push", "--database", "a.sqlite", "--to", "dir:remote", "files"]
            let run = try UploaderProcess(push, in: folder).wait()
            #expect(run.status == 64 && run.messages.contains("uploader.yaml cannot be read"), "\(run)")
            #expect(!FileManager.default.fileExists(atPath: folder.path + "/a.sqlite"))
            #expect(try UploaderProcess(["push", "--help"], in: folder).wait().status == 0)
        }
    }

    @Test("The list of values names their sources and the variables of no option")
    func shown() throws {
        try withFolder { folder in
            let environment = ["UPLOADER_DATABASE": "a.sqlite", "UPLOADER_DATABSE": "b.sqlite"]
            let run = try UploaderProcess(["config", "show"], in: folder, environment: environment).wait()
            #expect(run.status == 0 && run.output == "database  a.sqlite  (UPLOADER_DATABASE)\n")
            #expect(run.messages.contains("UPLOADER_DATABSE is not the variable of an option."))
        }
    }

    @Test("The list of values hides the passwords of addresses")
    func passwords() throws {
        try withFolder { folder in
            for password in ["secret", "it's secret", "a@\"secret\""] {
                let environment = ["UPLOADER_TO": "webdav+https://ann:\(password)@example.org/files"]
                let run = try UploaderProcess(["config", "show"], in: folder, environment: environment).wait()
                #expect(run.output == "to  webdav+https://…@example.org/files  (UPLOADER_TO)\n")
            }
        }
    }

    @Test("A message about a wrong value names the variable that it comes from")
    func wrongValue() throws {
        try withFolder { folder in
            let environment = ["UPLOADER_MAX_EXECUTORS": "0", "UPLOADER_DATABASE": "a.sqlite"]
            let run = try UploaderProcess(["push", "."], in: folder, environment: environment).wait()
            #expect(run.status == 64 && run.messages.contains("--max-executors by UPLOADER_MAX_EXECUTORS"))
        }
    }
}
