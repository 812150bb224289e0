@testable import LFSSyncServer

extension StoreVersion {
    /// The name of the index that the next release builds.
    static let nextIndex = SchemaObject.Name(kind: "index", name: "sync_mutation_created")
    /// The name of the step in which the next release fills its column.
    static let nextStep = "fill createdAt of sync_mutation"

    /// Returns the version of a later release, whose servers run at the same time as those of this one.
    ///
    /// It adds a column to a table that every push writes to, builds an index, and fills the column in existing rows.
    static func next(_ dialect: SQLDialect, batchSize: Int = 20) -> StoreVersion {
        StoreVersion(
            number: current.number + 1, oldest: current.number,
            additions: ["ALTER TABLE sync_mutation ADD COLUMN createdAt BIGINT NOT NULL DEFAULT 0"],
            steps: [
                .index("CREATE INDEX \"\(nextIndex.name)\" ON \"sync_mutation\"(createdAt)", dialect: dialect),
                .batches(
                    nextStep, of: batchSize,
                    statement: """
                        UPDATE sync_mutation SET createdAt = 1 WHERE (sessionID, sequence) IN (
                            SELECT sessionID, sequence FROM sync_mutation WHERE createdAt = 0 LIMIT \(batchSize))
                        """),
            ])
    }

    /// Returns the version of the release after the next one. It cannot run together with this release.
    static func afterNext(_ dialect: SQLDialect) -> StoreVersion {
        let next = Self.next(dialect)
        return StoreVersion(number: next.number + 1, oldest: next.number, steps: next.steps)
    }
}
