import Foundation
import GRDB
import LFSFiles
import LFSSystem
import TestSupport
import Testing

@testable import LFS

/// A record of the calls that would set the protection class of files.
private final class ProtectionCalls: Sendable {
    let calls = EventLog<Call>()

    struct Call: Hashable, Sendable {
        let path: String
        let protection: FileProtection
    }

    var call: FileProtector.Call {
        { [calls] _, path, protection throws(SystemError) in calls.add(Call(path: path, protection: protection)) }
    }

    func paths(_ protection: FileProtection) -> Set<String> {
        Set(calls.events.filter { $0.protection == protection }.map(\.path))
    }
}

@Suite("Protection of files on locked devices", .timeLimit(.minutes(10)))
struct FileProtectionTests {
    @Test("The folders of a database get the protection class before any file is made")
    func folders() async throws {
        let recorder = ProtectionCalls()
        try await withHost { host in
            var options = try host.optionsWithLocation()
            options.protectionCall = recorder.call
            try await withManager(host, options: options, starts: false) { lfs in
                let folders = [host.store, host.incoming, host.temporary].map(\.path) + [lfs.places.staging.path]
                #expect(recorder.paths(.completeUntilFirstUserAuthentication) == Set(folders))
                let count = recorder.calls.events.count
                _ = try await lfs.makeFile(from: .bytes(someBytes()))
                #expect(recorder.calls.events.count == count, "a new file gets the class of its folder")
            }
        }
    }

    @Test("A moved file gets the protection class, because a rename keeps the former one")
    func moved() async throws {
        let recorder = ProtectionCalls()
        try await withHost { host in
            var options = host.options
            options.protectionCall = recorder.call
            options.fileProtection = .completeUnlessOpen
            try await withManager(host, options: options) { lfs in
                let source = host.folder.child("photo.jpg")
                try Data(someBytes()).write(to: source)
                _ = try await lfs.makeFile(from: .movingFile(source))
                #expect(recorder.paths(.completeUnlessOpen).contains(source.path))
                let copied = host.folder.child("copied.jpg")
                try Data(someBytes()).write(to: copied)
                _ = try await lfs.makeFile(from: .file(copied))
                #expect(!recorder.paths(.completeUnlessOpen).contains(copied.path))
            }
        }
    }

    @Test("A file whose protection fails is given back to its place")
    func failing() async throws {
        try await withHost { host in
            let source = host.folder.child("photo.jpg")
            var options = host.options
            options.protectionCall = { _, path, _ throws(SystemError) in
                if path == source.path { throw SystemError(call: "fcntl", path: path, errno: 5) }
            }
            try await withManager(host, options: options) { lfs in
                let bytes = someBytes()
                try Data(bytes).write(to: source)
                #expect(await errorCode { _ = try await lfs.makeFile(from: .movingFile(source)) } == .system)
                try #expect(Data(contentsOf: source) == Data(bytes))
                try #expect(host.filesInTemporary().isEmpty)
            }
        }
    }

    @Test("No protection class is set without the option, and none on other systems")
    func none() async throws {
        let recorder = ProtectionCalls()
        try await withHost { host in
            #if !canImport(Darwin)
            #expect(host.options.protectionCall == nil)
            #endif
            #expect(host.options.fileProtection == .completeUntilFirstUserAuthentication)
            var options = host.options
            options.protectionCall = recorder.call
            options.fileProtection = nil
            try await withManager(host, options: options) { _ in }
            #expect(recorder.calls.events.isEmpty)
        }
    }
}
