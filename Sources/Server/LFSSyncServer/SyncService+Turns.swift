/// Tasks that one of several servers runs at a time.
extension SyncService {
    /// Runs a task unless another server with the same database runs it now. If this server loses its connection to the
    /// others during the task, another one may start it too. With SQLite, the task always runs.
    ///
    /// - Parameters:
    ///   - task: the name of the task, such as `prune`.
    ///   - body: runs the task.
    /// - Returns: the result of the body, or nil if another server runs the task.
    /// - Throws: ``SQLFailure`` if the servers cannot be asked, and errors of the body.
    @discardableResult public func runAlone<Value: Sendable>(
        _ task: String, _ body: () async throws -> Value
    ) async throws -> Value? {
        guard let link = link() else { return try await body() }
        guard try await link.takeTurn(task) else { return nil }
        let result: Result<Value, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        await link.endTurn(task)
        return try result.get()
    }
}
