# An executive chef: reviews what the line finished.
cat > /dev/null
case $BRIGADE_ROLE in
review)
    echo "<review>PASS</review>"
    echo "<reason>The criteria are met, and the commands show it.</reason>"
    ;;
*)
    echo "<promise>BLOCKED</promise>"
    ;;
esac
