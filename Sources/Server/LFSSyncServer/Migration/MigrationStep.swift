/// A change of a store that may take long, and does not keep other servers from using the store.
///
/// On PostgreSQL, it runs outside of a transaction and without time limits. If the server ends during the step, the
/// next start continues it.
struct MigrationStep: Sendable {
    private enum Work {
        case index(SchemaObject)
        case batches(statement: String, size: Int)
    }

    /// The name that the store records when the step is done. For an index, it is the name of the index.
    let name: String
    private let work: Work
    /// The statement that the store records with an index.
    private let recordedSource: String

    private init(name: String, work: Work, recordedSource: String = "") {
        self.name = name
        self.work = work
        self.recordedSource = recordedSource
    }

    /// Returns a step that builds an index of one of the server's own tables.
    ///
    /// - Parameter source: a statement `CREATE INDEX "name" ON "table"…`.
    static func index(_ source: String, dialect: SQLDialect) -> MigrationStep {
        let object = SchemaObject(source, dialect: dialect)
        return MigrationStep(name: object.name.name, work: .index(object))
    }

    /// Returns a step that builds an index that the schema of the devices' tables needs.
    static func index(_ object: SchemaObject) -> MigrationStep {
        MigrationStep(name: object.name.name, work: .index(object), recordedSource: object.source)
    }

    /// Returns a step that repeats a statement until it changes no row. Each repetition commits on PostgreSQL.
    ///
    /// Servers of earlier versions may add rows that the statement would change, during the step and after it. The step
    /// then ends after some batches that are not full. The server has to accept such rows.
    ///
    /// - Parameters:
    ///   - name: the unique name of the step, which never changes.
    ///   - size: the maximum number of rows that the statement changes at once.
    ///   - statement: a statement that changes no row a second time.
    static func batches(_ name: String, of size: Int, statement: String) -> MigrationStep {
        MigrationStep(name: name, work: .batches(statement: statement, size: size))
    }

    /// Returns the statement that the step runs.
    func statement(_ dialect: SQLDialect) -> String {
        switch work {
        case .index(let object): Self.creation(of: object, dialect: dialect)
        case .batches(let statement, _): statement
        }
    }

    /// Returns true if the store has recorded the step.
    ///
    /// - Parameters:
    ///   - objects: the objects that the store has recorded.
    ///   - names: the names of the steps that the store has recorded.
    func isDone(objects: [SchemaObject.Name: SchemaTable.Object], names: Set<String>) -> Bool {
        switch work {
        case .index(let object): objects[object.name] != nil
        case .batches: names.contains(name)
        }
    }

    /// Runs the step and records it. No other server may run a step at the same time.
    ///
    /// - Throws: ``SQLFailure``. The step can then be repeated.
    func run(_ db: any SQLConnection) throws {
        switch work {
        case .index(let object):
            try Self.build(object, db)
            try SchemaTable.note(object.name, source: recordedSource, db)
        case .batches(let statement, let size):
            var smallCount = 0
            while smallCount < Self.smallBatchLimit {
                let count = try Self.change(statement, db)
                if count == 0 { break }
                if count < size { smallCount += 1 }
            }
            try SchemaTable.note(step: name, db)
        }
    }

    // MARK: Indexes

    /// Returns the statement that builds an index. On PostgreSQL, it waits for current transactions, and later ones do
    /// not wait for it.
    private static func creation(of index: SchemaObject, dialect: SQLDialect) -> String {
        guard dialect == .postgres else { return index.source }
        return "CREATE INDEX CONCURRENTLY\(index.source.dropFirst("CREATE INDEX".count))"
    }

    /// Builds an index, unless PostgreSQL has completed it for a server that has ended since.
    private static func build(_ index: SchemaObject, _ db: any SQLConnection) throws {
        if let definition = try SchemaCatalog.objects(db)[index.name] {
            guard PostgresCatalog.isIncomplete(definition) else { return }
            try db.run(script: "DROP INDEX CONCURRENTLY \(TableSQL.quoted(index.name.name))")
        }
        try db.run(script: creation(of: index, dialect: db.dialect))
    }

    // MARK: Batches

    /// The maximum number of batches of a step that are not full.
    private static let smallBatchLimit = 10
    /// The maximum number of attempts of a batch that conflicts with the transactions of other servers.
    private static let attemptLimit = 10

    /// Runs the statement once, and again after a deadlock.
    ///
    /// - Returns: the number of changed rows.
    private static func change(_ statement: String, _ db: any SQLConnection) throws -> Int {
        var attempt = 1
        while true {
            do {
                return try db.execute(statement, arguments: [])
            } catch let failure as SQLFailure where failure.code == .busy && attempt < attemptLimit {
                attempt += 1
            }
        }
    }
}
