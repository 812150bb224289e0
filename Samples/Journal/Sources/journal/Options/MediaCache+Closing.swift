import LFSCache

extension MediaCache {
    /// Closes the cache after the body has returned or thrown. An open cache would prevent the reset of its folder.
    func closing<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            await close()
            return result
        } catch {
            await close()
            throw error
        }
    }
}
