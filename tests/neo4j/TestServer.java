import java.nio.file.Path;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;

/** Test only: a Neo4j Community server with a Bolt listener, for as long as standard input stays open. */
public class TestServer {
    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        DatabaseManagementService server = new DatabaseManagementServiceBuilder(home)
                .loadPropertiesFromFile(home.resolve("neo4j.conf"))
                .build();
        System.out.println("READY");
        System.out.flush();
        while (System.in.read() != -1) { }
        Runtime.getRuntime().halt(0);   // the data is thrown away: no orderly shutdown, which takes ten seconds
    }
}
