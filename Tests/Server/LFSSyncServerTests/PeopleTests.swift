import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("People of shared albums", .timeLimit(.minutes(10)))
struct PeopleTests {
    static let schema: SyncSchema = {
        var schema = SharingServer.schema
        schema.tables += [
            .init("user", columns: [.init("name", kind: .text, isRequired: true), .init("picture", kind: .blob)]),
            .init("auth_user", columns: [.init("email", kind: .text)]),
        ]
        schema.people = .init("user")
        return schema
    }()

    private static let types = SharingServer.types + ["UserV1", "AuthUserV1"].compactMap { SyncType($0) }

    /// Runs a body with the accounts ann, bob and cat. Ann shares the album `x` with bob.
    private func run(_ body: (TestServer, _ ann: Person, _ bob: Person, _ cat: Person) async throws -> Void)
        async throws
    {
        try await TestServer.run(schema: Self.schema) { server in
            var people: [Person] = []
            for name in ["ann", "bob", "cat"] {
                let person = try await server.person(name)
                person.types = Self.types
                people.append(person)
            }
            let (ann, bob, cat) = (people[0], people[1], people[2])
            try await ann.album("x")
            try await ann.share("x", other: bob)
            for person in people { try await person.sync() }
            try await body(server, ann, bob, cat)
        }
    }

    /// Returns the names of the people in a scope of a device.
    private func names(_ person: Person, in scope: String = "album/x") -> [String] {
        (person.rows[scope] ?? [:]).filter { $0.key.hasPrefix("User ") }.compactMap { $0.value.text("name") }.sorted()
    }

    private func change(_ person: Person, values: [String: SyncValue]) async throws -> SyncMutationResult.Outcome {
        try await person.device.push(.patch, type: "UserV1", key: person.id, values: values).outcome
    }

    @Test("Members of an album have the names of each other")
    func names() async throws {
        try await run { _, ann, bob, cat in
            for person in [ann, bob, cat] { #expect(names(person, in: "") == [person.name]) }
            #expect(names(ann) == ["bob"] && names(bob) == ["ann"])
            #expect(cat.rows.keys.sorted() == [""])
            #expect(bob.has("album/x").contains("User \(ann.id)"))
        }
    }

    @Test("A changed name and picture reach the other and the new members")
    func changes() async throws {
        try await run { _, ann, bob, cat in
            let values: [String: SyncValue] = ["name": .text("Ann Lee"), "picture": .blob([1, 2])]
            #expect(try await change(ann, values: values).isApplied)
            #expect(try await bob.sync() == ["album/x: User \(ann.id)"])
            let row = try #require(bob.rows["album/x"]?["User \(ann.id)"])
            #expect(row.text("name") == "Ann Lee" && row["picture"] == .blob([1, 2]))
            #expect(try await ann.share("x", other: cat).isApplied)
            try await cat.sync()
            #expect(names(cat) == ["Ann Lee", "bob"])
            #expect(try await bob.sync().contains("album/x: User \(cat.id)"))
            #expect(try await ann.sync().contains("album/x: User \(cat.id)"))
            #expect(try await bob.sync() == [])
        }
    }

    @Test("A person disappears with the membership and returns with it")
    func leaving() async throws {
        try await run { _, ann, bob, cat in
            try await ann.share("x", other: cat)
            for person in [ann, bob, cat] { try await person.sync() }
            try await ann.unshare("x", other: cat)
            #expect(try await bob.sync().contains("album/x: -User \(cat.id)"))
            #expect(try await cat.sync() == ["!album/x"])
            #expect(names(bob) == ["ann"] && names(cat, in: "") == ["cat"])
            try await ann.share("x", other: cat)
            for person in [bob, cat] { try await person.sync() }
            #expect(names(bob) == ["ann", "cat"] && names(cat) == ["ann", "bob"])
        }
    }

    @Test("An account changes only its own row, and deletes none")
    func rights() async throws {
        try await run { server, ann, bob, _ in
            let other = try await bob.device.push(
                .patch, type: "UserV1", key: ann.id, values: ["name": .text("Not Ann")]
            ).outcome
            #expect(other.code == "forbidden")
            for key in ["somebody", try await server.id("cat")] {
                let made = try await bob.device.put("UserV1", key: key, values: ["name": .text("x")]).outcome
                #expect(made.code == "forbidden", "\(made)")
            }
            for key in [ann.id, bob.id] {
                #expect(try await bob.delete("UserV1", key: key).code == "forbidden")
            }
            let whole = try await bob.device.put("UserV1", key: bob.id, values: ["name": .text("Bob")]).outcome
            #expect(whole.isApplied)
            try await ann.sync()
            #expect(names(ann) == ["Bob"])
        }
    }

    @Test("The row of a removed account is deleted for the others")
    func removed() async throws {
        try await run { server, ann, bob, cat in
            try await ann.share("x", other: cat)
            for person in [ann, bob, cat] { try await person.sync() }
            #expect(try await server.service.removeAccount(named: "cat"))
            #expect(try await bob.sync().contains("album/x: -User \(cat.id)"))
            #expect(try await server.count("\"user\"") == 2)
            // An account with the same name is another person.
            let again = try await server.person("cat")
            again.types = Self.types
            try await again.sync()
            #expect(names(again, in: "") == ["cat"] && again.id != cat.id)
        }
    }

    @Test("A partner gets the person, and members do not get the private row of the account")
    func others() async throws {
        try await run { _, ann, bob, cat in
            try await ann.device.put("AuthUserV1", key: ann.id, values: ["email": .text("ann@example.org")])
            try await ann.sync()
            try await bob.sync()
            #expect(ann.has().contains("AuthUser \(ann.id)"))
            #expect(!bob.has("album/x").contains { $0.hasPrefix("AuthUser") })
            try await ann.letRead(cat)
            try await cat.sync()
            #expect(names(cat, in: "account/\(ann.id)") == ["ann"])
        }
    }

    @Test("The digest counts the people of an album")
    func digest() async throws {
        try await run { _, ann, bob, _ in
            let request = SyncStreamRequest(types: Self.types.map { [$0] })
            let reply = await bob.server.service.digest(try WireFormat.encode(request), token: bob.device.token)
            let text = String(decoding: try await TestDevice.bytes(reply), as: UTF8.self)
            let users = text.split(separator: "\n").filter { $0.contains("UserV1\"") && $0.contains("album/x") }
            #expect(users.contains { $0.contains(#""type":"UserV1""#) && $0.contains(#""count":1"#) }, "\(text)")
            _ = ann
        }
    }

    @Test("A store gets the rows of its accounts when the schema gets a table of people")
    func migrated() async throws {
        try await TestStore.run { database in
            var before = Self.schema
            before.people = nil
            var service = try await SyncService(database, schema: before)
            let (ann, bob) = try await { server in
                let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
                try await ann.album("x")
                try await ann.share("x", other: bob)
                return (ann, bob)
            }(TestServer(database: database, service: service))
            // The app had the table before, with a row of this account.
            try await ann.device.put("UserV1", key: ann.id, values: ["name": .text("Ann Lee")])
            service = try await SyncService(database, schema: Self.schema)
            let later = TestServer(database: database, service: service)
            let new = try await later.person("bob")
            new.types = Self.types
            try await new.sync()
            #expect(names(new) == ["Ann Lee"] && names(new, in: "") == ["bob"] && new.id == bob.id)
            #expect(try await SyncStore(database, schema: Self.schema).migrate() == [])
            let error = await #expect(throws: SyncStoreError.self) {
                try await SyncStore(database, schema: before).migrate()
            }
            #expect(error?.code == .destructive)
        }
    }

    @Test("An invalid table of people is refused with the reason", arguments: [0, 1, 2, 3, 4])
    func invalid(_ number: Int) {
        var schema = Self.schema
        let table = schema.tables.count - 2
        let word: String
        switch number {
        case 0:
            schema.people = .init("nothing")
            word = "'nothing' cannot be synced"
        case 1:
            schema.people = .init("user", name: "title")
            word = "the text column 'title'"
        case 2:
            schema.tables[table].columns.append(.init("photoID", kind: .text, parent: .init("lfs_file")))
            word = "'photoID' is never NULL or refers"
        case 3:
            schema.tables[table].columns.append(.init("age", kind: .integer, isRequired: true))
            word = "is never NULL"
        default:
            schema.people = .init("album", name: "title")
            word = "part of a container"
        }
        let error = #expect(throws: SyncSchemaError.self) { try CheckedSchema(schema) }
        #expect(error?.description.contains(word) == true, "\(error?.description ?? "")")
    }
}
