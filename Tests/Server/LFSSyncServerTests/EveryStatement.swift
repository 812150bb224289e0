import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

extension TestServer {
    /// Runs every statement of a server at least once.
    func runEveryStatement() async throws {
        let (ann, bob) = (try await person("ann"), try await person("bob"))
        let name = UUID().uuidString
        for person in [ann, bob] {
            let file = "f\(person.name)\(name)"
            try await person.file(file)
            try await person.rename(file, name: "new")
            try await person.sync()
        }
        let file = "fann\(name)"
        try await ann.album("x\(name)")
        try await ann.link("x\(name)", file: file)
        try await ann.share("x\(name)", other: bob)
        try await ann.letRead(bob)
        try await bob.sync()
        try await bob.album("y\(name)")
        #expect(try await bob.link("y\(name)", file: file).isApplied)
        try await ann.device.put("NoteV1", key: "note\(name)", values: ["fileID": .text(file), "text": .text("x")])
        try await ann.device.push(.patch, type: "NoteV1", key: "note\(name)", values: ["text": .text("y")])
        try await ann.unlink("x\(name)", file: file)
        try await limitDeletions(of: "album/x\(name)")
        try await ann.unshare("x\(name)", other: bob)
        try await ann.stopLetting(bob)
        try await bob.sync()
        try await ann.delete("NoteV1", key: "note\(name)")
        try await ann.delete("FileV1", key: file)
        try await limitDeletions(of: "account/\(ann.id)")
        try await ann.delete("AlbumV1", key: "x\(name)")
        #expect(try await service.owner(ofObject: "ann/\(file)", readableBy: bob.id) == nil)
        try await service.removeObjects { key, _ in key.hasSuffix(file) }
        try await ann.sync()
        let request = SyncStreamRequest(types: SharingServer.types.map { [$0] })
        let body = try WireFormat.encode(request)
        #expect(await service.digest(body, token: ann.device.token).status == 200)
        #expect(await service.acknowledged(token: ann.device.token).status == 200)
        for body in ["", #"{"types":["FileV1"]}"#] {
            #expect(await service.forget(Data(body.utf8), token: ann.device.token).status == 204)
        }
        try await service.prune()
        let session = try #require(try await service.sessions(account: "ann").first)
        #expect(try await service.resetSession(session.id))
        _ = try await service.sessions()
        #expect(try await service.removeSession(session.id))
        #expect(try await service.removeSessions(account: "nobody") == 0)
        _ = try await service.accounts()
        _ = try await service.accounts(named: "ann")
        for limit in AccountLimit.allCases { #expect(try await service.setLimit(limit, to: nil, account: "ann")) }
        #expect(try await service.recount() == 0)
        _ = try await person("carl")
        #expect(try await service.removeAccount(named: "carl"))
        let mark = try await service.compareHistory(with: nil).mark
        #expect(try await !service.compareHistory(with: mark).wasRestored)
        try await service.restored()
    }

    /// Removes records of deletions as if the scope had too many of them.
    private func limitDeletions(of scope: String) async throws {
        let limit = DeletionLimit(service.schema)
        try await database.write { try limit.apply(to: scope, rows: 0, deletions: 100_000, $0) }
    }
}
